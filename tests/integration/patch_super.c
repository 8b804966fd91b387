/* SPDX-License-Identifier: Apache-2.0 */
/*
 * patch_super FILE OFFSET BYTE...: puts bytes (in hex) into both copies of a
 * superblock, and right checksums on them: as another version would write it.
 */
#include <stdio.h>
#include <stdlib.h>

#include "format/format_internal.h"
#include "format/format_super.h"

#define SEALED (SUPER_COPY_BYTES - FORMAT_CHECKSUM_BYTES)

int main(int argc, char **argv)
{
	u8 data[SUPER_FILE_BYTES], *copy;
	size_t at;
	FILE *f;
	int i;

	if (argc < 4)
		return 2;
	at = strtoul(argv[2], NULL, 0);
	f = fopen(argv[1], "r+");
	if (!f || at + (size_t)argc - 3 > SEALED ||
	    fread(data, 1, sizeof(data), f) != sizeof(data))
		return 1;
	for (copy = data; copy < data + sizeof(data); copy += SUPER_COPY_BYTES) {
		for (i = 3; i < argc; i++)
			copy[at + (size_t)i - 3] =
				(u8)strtoul(argv[i], NULL, 16);
		put_le64(copy + SEALED, format_checksum(copy, SEALED));
	}
	rewind(f);
	if (fwrite(data, 1, sizeof(data), f) != sizeof(data))
		return 1;
	return fclose(f) ? 1 : 0;
}
