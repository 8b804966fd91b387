/* SPDX-License-Identifier: Apache-2.0 */
#include "ingest/packer.h"

int packer_init(struct packer *p, struct session *s, u8 kind,
		struct akin_diag *diag)
{
	memset(p, 0, sizeof(*p));
	p->session = s;
	p->kind = kind;
	p->gate = refgate_new();
	return p->gate ? 0 : diag_set(diag, -AKIN_E_nomem, "stream");
}

void packer_release(struct packer *p)
{
	nearset_release(&p->near);
	refgate_drop(p->gate);
	p->gate = NULL;
}

bool packer_wants_near(struct packer *p)
{
	return session_delta_depth(p->session) > 0 && !refgate_rests(p->gate);
}

bool packer_wants_sketches(struct packer *p)
{
	return packer_wants_near(p) && refgate_shrinks(p->gate);
}

int packer_sketch(struct packer *p, const struct place *at,
		  const struct dir_sketch *sketch, struct akin_diag *diag)
{
	int err = container_writer_sketch(p->sc->writer, at->entry, sketch);

	return err ? diag_set(diag, err, "sketch") : 0;
}

static int close_group(struct packer *p, struct akin_diag *diag)
{
	struct group_header g;
	struct nearset near;
	u8 *raw = p->raw;
	int err;

	if (p->nr_chunks == 0)
		return 0;
	err = container_writer_close_group(p->sc->writer, &g, diag);
	if (err)
		return err;
	/* For chunks that repeat before they can be read back. */
	if (session_compares(p->session) && p->kind == CONTAINER_DATA)
		groupcache_offer(session_depot(p->session)->groups,
				 p->sc->number, g.number, raw, p->raw_len);
	p->raw = NULL;
	p->raw_len = 0;
	p->nr_chunks = 0;
	near = nearset_take(&p->near);
	return session_compress(p->sc, &g, TAKE(raw), &near, p->gate, diag);
}

static void close_container(struct packer *p)
{
	if (p->sc)
		session_finish_container(TAKE(p->sc));
	p->sc = NULL;
}

/* An open container and a group with room for @len more bytes. */
static int make_room(struct packer *p, u32 len, struct akin_diag *diag)
{
	const struct super *super = &session_depot(p->session)->super;
	struct container_writer *w;
	int err;

	if (p->sc && (p->raw_len + len > super->group_bytes ||
		      p->nr_chunks >= GROUP_MAX_CHUNKS)) {
		err = close_group(p, diag);
		if (err)
			return err;
		w = p->sc->writer;
		if (container_writer_size(w) >= super->container_bytes)
			close_container(p);
	}
	if (p->sc && container_writer_nr_entries(p->sc->writer) >=
			     super->container_chunks) {
		err = close_group(p, diag);
		if (err)
			return err;
		close_container(p);
	}
	if (!p->sc) {
		err = session_open_container(p->session, p->kind, &p->sc,
					     diag);
		if (err)
			return err;
	}
	if (!p->raw) {
		p->raw = session_get_buffer(p->session);
		if (!p->raw)
			return diag_set(diag, -AKIN_E_nomem, "group");
	}
	return 0;
}

int packer_add(struct packer *p, const struct fp *fp, const void *data,
	       u32 len, const struct hint *hint, const struct group_ref *near,
	       u32 nr_near, struct place *at, struct akin_diag *diag)
{
	struct depot *d = session_depot(p->session);
	int err;

	if (len > session_max_group(p->session))
		return diag_set(diag, -AKIN_E_too_large,
				"a piece of %u bytes", len);
	err = make_room(p, len, diag);
	if (!err && session_delta_depth(p->session))
		err = diag_said(diag, nearset_add(&p->near, near, nr_near,
						  p->sc->number));
	if (!err)
		err = container_writer_add(p->sc->writer, fp, len, hint,
					   &at->entry, diag);
	if (err)
		return err;
	memcpy(p->raw + p->raw_len, data, len);
	p->raw_len += len;
	p->nr_chunks++;
	at->container = p->sc->number;
	dircache_note(d->dirs, p->sc->slot, fp, at->entry);
	return diag_said(diag, index_add(d->index, fp, at, diag));
}

int packer_close(struct packer *p, struct akin_diag *diag)
{
	int err = 0;

	if (p->sc)
		err = close_group(p, diag);
	if (p->sc && err && p->nr_chunks) {
		/* The group could not be closed: its chunks are promised. */
		container_writer_abandon(p->sc->writer, err);
		p->nr_chunks = 0;
	}
	close_container(p);
	session_put_buffer(p->session, p->raw);
	p->raw = NULL;
	p->raw_len = 0;
	nearset_release(&p->near);
	return err;
}
