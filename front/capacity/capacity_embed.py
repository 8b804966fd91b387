# SPDX-License-Identifier: Apache-2.0
"""Prints C source that holds the files named, for capacity_page.h."""
import os
import sys

print('/* SPDX-License-Identifier: Apache-2.0 */')
print('/* Made from the files of the page; do not edit. */')
print('#include <stddef.h>\n\n#include "capacity_page.h"\n')
table = []
for i, path in enumerate(sys.argv[1:]):
    with open(path, 'rb') as f:
        data = f.read()
    print(f'static const unsigned char file{i}[] = {{')
    for at in range(0, len(data), 20):
        print('\t' + ''.join(f'{b},' for b in data[at:at + 20]))
    print('};\n')
    table.append(f'\t{{ "{os.path.basename(path)}", file{i}, {len(data)} }},')
print('const struct capacity_page_file capacity_page_files[] = {')
print('\n'.join(table))
print('\t{ NULL, NULL, 0 },\n};')
