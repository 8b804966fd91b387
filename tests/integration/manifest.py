# SPDX-License-Identifier: Apache-2.0
"""Prints everything about the nodes below a directory that a restore must
give back: one line each, in the order of the names' bytes.

    manifest.py [--omit FIELD[,FIELD]...] DIRECTORY

Fields: mode, owner, mtime, xattrs, links, dev, content. Of the directory
itself nothing is printed.
"""
import argparse
import hashlib
import os
import stat

TYPES = {stat.S_IFREG: 'file', stat.S_IFDIR: 'dir', stat.S_IFLNK: 'symlink',
         stat.S_IFIFO: 'fifo', stat.S_IFSOCK: 'socket',
         stat.S_IFCHR: 'chardev', stat.S_IFBLK: 'blockdev'}


def digest(name, dir_fd):
    fd = os.open(name, os.O_RDONLY | os.O_NOFOLLOW, dir_fd=dir_fd)
    with os.fdopen(fd, 'rb') as f:
        h = hashlib.sha256()
        while block := f.read(1 << 20):
            h.update(block)
    return h.hexdigest()[:32]


def xattrs(name, dir_fd):
    path = b'/proc/self/fd/%d/%s' % (dir_fd, name)
    return ['%s=%s' % (n, os.getxattr(path, n, follow_symlinks=False).hex())
            for n in sorted(os.listxattr(path, follow_symlinks=False))]


def describe(path, name, dir_fd, links, omit):
    st = os.stat(name, dir_fd=dir_fd, follow_symlinks=False)
    kind = TYPES[stat.S_IFMT(st.st_mode)]
    words = [repr(path)[2:-1], kind]
    if 'mode' not in omit:
        words.append('%04o' % stat.S_IMODE(st.st_mode))
    if 'owner' not in omit:
        words.append('%d:%d' % (st.st_uid, st.st_gid))
    if 'mtime' not in omit:
        words.append('%d' % st.st_mtime_ns)
    if 'xattrs' not in omit:
        words += xattrs(name, dir_fd)
    if kind == 'symlink':
        words.append('-> %r' % os.readlink(name, dir_fd=dir_fd))
    if kind in ('chardev', 'blockdev') and 'dev' not in omit:
        words.append('%d,%d' % (os.major(st.st_rdev), os.minor(st.st_rdev)))
    if kind == 'file':
        words.append('%d' % st.st_size)
        if 'content' not in omit:
            words.append(digest(name, dir_fd))
    if kind != 'dir' and st.st_nlink > 1 and 'links' not in omit:
        first = links.setdefault((st.st_dev, st.st_ino), path)
        words.append('= %r' % first)
    print(' '.join(words))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--omit', default='')
    parser.add_argument('directory')
    args = parser.parse_args()
    omit = set(args.omit.split(','))
    links = {}
    top = os.fsencode(args.directory)
    for at, dirs, files, dir_fd in os.fwalk(top):
        dirs.sort()
        below = at[len(top):].lstrip(b'/')
        for name in sorted(dirs + files):
            describe(os.path.join(below, name), name, dir_fd, links, omit)


main()
