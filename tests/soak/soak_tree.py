# SPDX-License-Identifier: Apache-2.0
"""Trees of files that change at random, and what a restore must give back.

A tree is small (a few MiB) and of everything that stores treat apart: text
that compresses, noise that does not, blocks that other trees have too, files
that grow, shrink, move, are linked, have holes or are empty. Equal seeds make
equal trees.
"""
import hashlib
import os
import shutil
import stat

FILES = 40
FILE_BYTES = 250_000
TREE_BYTES = 4_000_000
SHARED = 24             # pieces that every tree draws from
PIECE_BYTES = 30_000


def text(rng, nbytes):
    words = ['%x' % rng.getrandbits(rng.randrange(4, 40)) for _ in range(200)]
    out = ' '.join(rng.choices(words, k=nbytes // 5 + 1))
    return out.encode()[:nbytes]


def shared(rng):
    """One of the pieces that all trees know."""
    import random
    own = random.Random(rng.randrange(SHARED))
    if own.random() < 0.5:
        return own.randbytes(PIECE_BYTES)
    return text(own, PIECE_BYTES)


def content(rng):
    size = int(FILE_BYTES * rng.random() ** 3)
    kind = rng.random()
    if kind < 0.08:
        return b''
    if kind < 0.3:
        return rng.randbytes(size)
    if kind < 0.4:
        return bytes(size)
    if kind < 0.7:
        return b''.join(shared(rng) for _ in range(size // PIECE_BYTES + 1))
    return text(rng, size)


class Tree:
    """A directory that one actor changes; others only read its copies."""

    def __init__(self, top, rng):
        self.top = top
        self.rng = rng
        os.makedirs(top)
        for _ in range(rng.randrange(3, FILES)):
            self.add()

    def files(self):
        found = []
        for at, _, names in os.walk(self.top):
            found += [os.path.join(at, n) for n in names]
        return sorted(f for f in found if not os.path.islink(f))

    def size(self):
        return sum(os.path.getsize(f) for f in self.files())

    def some_dir(self):
        path = self.top
        while self.rng.random() < 0.6:
            path = os.path.join(path, 'd%d' % self.rng.randrange(4))
        os.makedirs(path, exist_ok=True)
        return path

    def new_name(self):
        return os.path.join(self.some_dir(),
                            'f%d' % self.rng.randrange(10 ** 6))

    def add(self):
        path = self.new_name()
        with open(path, 'wb') as f:
            f.write(content(self.rng))
            if self.rng.random() < 0.05:
                f.truncate(f.tell() + self.rng.randrange(2_000_000))

    def remove(self, path):
        os.unlink(path)

    def move(self, path):
        os.rename(path, self.new_name())

    def copy(self, path):
        shutil.copyfile(path, self.new_name())

    def link(self, path):
        os.link(path, self.new_name())

    def symlink(self, path):
        os.symlink(os.path.basename(path), self.new_name())

    def attributes(self, path):
        os.chmod(path, self.rng.choice((0o600, 0o644, 0o755, 0o640)))
        os.utime(path, ns=(0, self.rng.randrange(2 * 10 ** 18)))

    def overwrite(self, path):
        with open(path, 'r+b') as f:
            for _ in range(self.rng.randrange(1, 6)):
                f.seek(self.rng.randrange(os.path.getsize(path) + 1))
                f.write(self.rng.randbytes(self.rng.randrange(1, 3000)))

    def insert(self, path):
        with open(path, 'rb') as f:
            data = f.read()
        at = self.rng.randrange(len(data) + 1)
        with open(path, 'wb') as f:
            f.write(data[:at] + text(self.rng, self.rng.randrange(1, 2000)) +
                    data[at:])

    def append(self, path):
        with open(path, 'ab') as f:
            f.write(content(self.rng)[:20_000])

    def truncate(self, path):
        os.truncate(path, self.rng.randrange(os.path.getsize(path) + 1))

    def change(self):
        """As much as between two backups."""
        for _ in range(self.rng.randrange(1, 12)):
            files = self.files()
            if not files or self.rng.random() < 0.15:
                self.add()
                continue
            self.rng.choice((
                self.remove, self.move, self.copy, self.link, self.symlink,
                self.attributes, self.overwrite, self.overwrite, self.insert,
                self.insert, self.append, self.truncate,
            ))(self.rng.choice(files))
        if self.rng.random() < 0.03:
            shutil.rmtree(self.some_dir())
            os.makedirs(self.top, exist_ok=True)
        files = self.files()
        while files and self.size() > TREE_BYTES:
            self.remove(files.pop(self.rng.randrange(len(files))))


def digest(path):
    h = hashlib.sha1()
    with open(path, 'rb') as f:
        while block := f.read(1 << 20):
            h.update(block)
    return h.hexdigest()


def describe(path, name, links):
    st = os.lstat(path)
    if stat.S_ISLNK(st.st_mode):
        return ('link', os.readlink(path), st.st_mtime_ns)
    if stat.S_ISDIR(st.st_mode):
        return ('dir', stat.S_IMODE(st.st_mode), st.st_mtime_ns)
    first = name
    if st.st_nlink > 1:
        first = links.setdefault(st.st_ino, name)
    return ('file', stat.S_IMODE(st.st_mode), st.st_mtime_ns, st.st_size,
            first, digest(path))


def manifest(top):
    """What is below @top: the name of each node -> what it is."""
    out, links = {}, {}
    for at, dirs, files in os.walk(top):
        dirs.sort()
        for n in sorted(dirs + files):
            path = os.path.join(at, n)
            name = os.path.relpath(path, top)
            out[name] = describe(path, name, links)
    return out


def difference(want, have):
    """The first differences of two manifests, as text; '' if there are none."""
    lines = []
    for name in sorted(set(want) | set(have)):
        if want.get(name) != have.get(name):
            lines.append('%s: %s, not %s' % (name, have.get(name),
                                             want.get(name)))
    return '\n'.join(lines[:10])


def without(want, drop):
    """@want as it is once the path @drop has been dropped from a snapshot:
    the first name of a file with several may be another one then."""
    out, firsts = {}, {}
    for name in sorted(want, key=lambda n: walk_key(n)):
        if name == drop or name.startswith(drop + '/'):
            continue
        node = want[name]
        if node[0] == 'file':
            first = firsts.setdefault(node[4], name)
            node = node[:4] + (first,) + node[5:]
        out[name] = node
    return out


def walk_key(name):
    """The order of manifest(): a directory's own nodes before those below
    its directories."""
    parts = name.split('/')
    return [(1, p) for p in parts[:-1]] + [(0, parts[-1])]
