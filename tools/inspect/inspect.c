/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opens the file, finds out what it is, and has it shown.
 *
 * All but runs are read whole: their sizes have limits. Runs have none and are
 * read page by page.
 */
#include "base/mem.h"
#include "format/format_container.h"
#include "inspect_internal.h"

/* First and last bytes of a file that is not read whole. */
#define PROBE_BYTES 4096

/* "a/b/c" = disk "a/b", name "c". Returns owned; *name borrows from @path. */
static char *inspect_split(const char *path, const char **name)
{
	const char *slash = strrchr(path, '/');
	char *dir;

	*name = slash ? slash + 1 : path;
	if (!slash)
		return mem_strdup(".");
	if (slash == path)
		return mem_strdup("/");
	dir = mem_strdup(path);
	if (dir)
		dir[slash - path] = 0;
	return dir;
}

static void inspect_whole(struct inspect *in, enum format_kind kind,
			  const u8 *data, size_t len)
{
	switch (kind) {
	case FORMAT_SUPER:
		inspect_super(in, data, len);
		break;
	case FORMAT_CONTAINER:
		inspect_container(in, data, len);
		break;
	case FORMAT_DIRECTORY:
		inspect_directory(in, data, len);
		break;
	case FORMAT_SNAPSHOT:
		inspect_snapshot(in, data, len);
		break;
	case FORMAT_LABEL:
		inspect_label(in, data, len);
		break;
	case FORMAT_RULEBOOK:
		inspect_rulebook(in, data, len);
		break;
	case FORMAT_PARITY:
		inspect_parity(in, data, len);
		break;
	case FORMAT_PIECE:
		inspect_piece(in, data, len);
		break;
	case FORMAT_LISTING:
		inspect_listing(in, data, len);
		break;
	default:
		in->err = diag_set(in->diag, -AKIN_E_bad_magic,
				   "%s: not a structure of akin", in->path);
	}
}

/* Too large to be read whole: a run, or something else. */
static int inspect_large(struct inspect *in)
{
	u8 probe[PROBE_BYTES];
	int err;

	err = file_pread(in->file, probe, sizeof(probe), 0, in->diag);
	if (err)
		return err;
	if (format_recognize(probe, sizeof(probe)) == FORMAT_RUN)
		return inspect_run(in);
	return diag_set(in->diag, -AKIN_E_too_large,
			"%s: not a run, and larger than anything else",
			in->path);
}

static int inspect_opened(struct inspect *in)
{
	enum format_kind kind;
	u8 *data;
	int err;

	err = file_size(in->file, &in->size, in->diag);
	if (err)
		return err;
	if (in->size > CONTAINER_MAX_BYTES)
		return inspect_large(in);
	data = mem_alloc(in->size);
	if (!data)
		return diag_set(in->diag, -AKIN_E_nomem, "%s: out of memory",
				in->path);
	err = file_pread(in->file, data, in->size, 0, in->diag);
	if (err)
		goto out;
	kind = format_recognize(data, in->size);
	if (kind == FORMAT_RUN)
		err = inspect_run(in);
	else
		inspect_whole(in, kind, data, in->size);
out:
	mem_free(data);
	return err;
}

int inspect_file(const char *path, bool json, FILE *out,
		 struct akin_diag *diag)
{
	struct inspect in = { .path = path, .json = json, .out = out,
			      .diag = diag };
	struct disk *disk = NULL;
	const char *name;
	char *dir;
	int err;

	dir = inspect_split(path, &name);
	if (!dir)
		return diag_set(diag, -AKIN_E_nomem, "%s: out of memory", path);
	err = disk_files_new(dir, false, &disk, diag);
	mem_free(dir);
	if (err)
		return err;
	err = disk_open(disk, name, 0, &in.file, diag);
	if (!err)
		err = inspect_opened(&in);
	if (in.file)
		(void)file_close(in.file, NULL);	/* nothing was written */
	disk_free(disk);
	if (!err && (fflush(out) || ferror(out)))
		err = diag_set(diag, -AKIN_E_io, "cannot write the output");
	return err ? err : in.err;
}
