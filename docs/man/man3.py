#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Manual pages of section 3 from include/akin/session.h.

    man3.py HEADER FILE...      write the pages, each to the file named after it
    man3.py HEADER --list       print the names of these files

The header is written to be read, so a page is what stands there: of a function
its prototype and the comment above it; akin_session is the comment at the top,
with everything that is declared.
"""
import os
import re
import sys

SUMMARIES = {
    'akin_session': 'store objects in a pool from other programs',
    'akin_session_open': 'open a session on a pool',
    'akin_session_close': 'close a session',
    'akin_session_stop': 'make the calls of a session end',
    'akin_session_get_limits': 'what a session can do',
    'akin_session_get_pool_info': 'what the pool of a session is like',
    'akin_txn_begin': 'begin a transaction',
    'akin_txn_end': 'commit or abort a transaction',
    'akin_object_begin': 'begin to send an object',
    'akin_object_send': 'send data of an object',
    'akin_object_room': 'borrow room for data of an object',
    'akin_object_filled': 'give back room with data of an object',
    'akin_object_hole': 'send data of an object that is not there',
    'akin_object_end': 'end an object',
    'akin_object_query': 'find objects',
    'akin_object_open': 'open an object for reading',
    'akin_object_close': 'close an object that was opened for reading',
    'akin_reader_size': 'size of an object that is being read',
    'akin_reader_transaction': 'which version of an object is being read',
    'akin_reader_read': 'read a part of an object',
    'akin_reader_copy': 'read an object in order',
}
FUNCTION = re.compile(r'AKIN_API [^;]*?\b(akin_\w+)\([^;]*;', re.S)
COMMENT = re.compile(r'/\*(.*?)\*/', re.S)


def clean(comment):
    lines = [re.sub(r'^\s*\*? ?', '', line) for line in comment.split('\n')]
    return '\n'.join(lines).strip('\n')


def escape(line):
    line = re.sub(r'@(\w)', r'\1', line)
    front = '\\&' if line[:1] in ('.', "'") else ''
    line = line.replace('\\', '\\e').replace('-', '\\-').replace("'", '\\(aq')
    return front + line


def body(text):
    """Paragraphs; lines that begin with blanks or a dash stay as they are."""
    out, literal, fresh = [], False, True
    for line in text.split('\n'):
        if not line.strip():
            fresh = True
            continue
        keep = line.startswith('\t')
        if keep != literal:
            out.append('.PP\n.nf' if keep else '.fi')
            literal, fresh = keep, not keep
        item = re.match(r'\s+-\s+(.*)', line)
        if item:
            out.append('.IP \\(bu 2')
            line, fresh = item.group(1), False
        elif fresh and not literal:
            out.append('.PP')
        fresh = False
        out.append(escape(line.expandtabs(8) if literal else line.strip()))
    if literal:
        out.append('.fi')
    return '\n'.join(out)


def head(name):
    return ('.\\" Made from akin/session.h; do not edit.\n'
            f'.TH {name.upper()} 3 "" "akin" "libakin"\n'
            f'.SH NAME\n{name} \\- {escape(SUMMARIES[name])}\n'
            '.SH SYNOPSIS\n.nf\n#include <akin/session.h>\n')


def functions(source):
    """name -> (prototype, comment); a comment serves what follows it up to the
    next one, as in the header."""
    found, comment, at = {}, '', 0
    for m in FUNCTION.finditer(source):
        above = COMMENT.findall(source[at:m.start()])
        if above and source[:m.start()].rstrip().endswith('*/'):
            comment = clean(above[-1])
        proto = m.group(0)[len('AKIN_API '):]
        found[m.group(1)] = (proto, comment)
        at = m.end()
    return found


def page(source, name):
    top = clean(COMMENT.findall(source)[1])
    all_of = functions(source)
    see = ',\n'.join(f'.BR {n} (3)' for n in ['akin_session', *all_of] if n != name)
    if name == 'akin_session':
        declared = source[source.index('#define AKIN_SESSION_VERSION'):]
        declared = declared[:declared.index('#ifdef __cplusplus')]
        text = head(name) + '.fi\n'
        text += 'cc ... $(pkg\\-config \\-\\-cflags \\-\\-libs akin)\n'
        text += '.SH DESCRIPTION\n' + body(top)
        text += '\n.SH DECLARATIONS\n.nf\n'
        text += '\n'.join(escape(line.expandtabs(8)) for line in
                          declared.replace('AKIN_API ', '').split('\n'))
        text += '\n.fi\n'
    else:
        proto, comment = all_of[name]
        text = head(name)
        text += '\n'.join(escape(line.expandtabs(8)) for line in proto.split('\n'))
        text += '\n.fi\n.SH DESCRIPTION\n' + body(comment) + '\n'
        text += ('.SH RETURN VALUE\nUnless said otherwise 0, or a negative code of '
                 '<akin/error.h>, with a message in the diag.\n')
    return text + '.SH SEE ALSO\n' + see + '\n'


def main():
    with open(sys.argv[1], encoding='utf-8') as f:
        source = f.read()
    if sys.argv[2] == '--list':
        print('\n'.join(f'{n}.3' for n in ['akin_session', *functions(source)]))
        return
    for path in sys.argv[2:]:
        name = os.path.basename(path).removesuffix('.3')
        with open(path, 'w', encoding='utf-8') as f:
            f.write(page(source, name))


main()
