/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Superblock: one file on each of the two disks, two copies in it (at 0 and
 * 4096), each 4096 bytes. A reader believes the sound copy with the higher
 * sequence number. Rewritten whole through a rename.
 */
#ifndef FORMAT_SUPER_H
#define FORMAT_SUPER_H

#include "format/format.h"

#define SUPER_COPY_BYTES 4096
#define SUPER_FILE_BYTES (2 * SUPER_COPY_BYTES)
#define SUPER_KEY_SLOTS 8

/* Bits of feat_ro_compat: the data disk has a copy of the policy, which whoever
 * changes the policy must change, too. */
#define SUPER_FEAT_RO_POLICY 0x1
/* Bits of each kind that this code understands. */
#define SUPER_FEAT_INCOMPAT_KNOWN ((u64)0)
#define SUPER_FEAT_RO_COMPAT_KNOWN ((u64)SUPER_FEAT_RO_POLICY)

enum super_role { SUPER_METADATA = 1, SUPER_DATA = 2 };
/* How sure a backup is of what it shares and writes. */
enum super_verify {
	SUPER_VERIFY_OFF = 0,	/* trusts fingerprints */
	SUPER_VERIFY_MATCH,	/* compares before it shares */
	SUPER_VERIFY_WRITE,	/* also reads back what it wrote */
};
/* How a backup finds what is there already, unless told otherwise. */
enum super_engine {
	SUPER_ENGINE_IDENTITY = 0,	/* by the index of fingerprints */
	SUPER_ENGINE_SIMILARITY,	/* by what represents containers */
	SUPER_ENGINE_HYBRID,		/* by both */
};
enum super_key_kind { SUPER_KEY_EMPTY = 0, SUPER_KEY_CLEAR = 1 };

/* The master key, wrapped by what the slot's kind says. */
struct super_key_slot {
	u8 kind;		/* enum super_key_kind */
	u8 kdf;			/* 0: none */
	u32 kdf_params[3];
	u8 salt[32];
	u8 wrapped[64];		/* clear: the 32-byte master key, then zeros */
};

struct super {
	u32 version;		/* as read; written is FORMAT_VERSION */
	u64 feat_compat;	/* unknown bits: read and write on */
	u64 feat_ro_compat;	/* unknown bits: read only */
	u64 feat_incompat;	/* unknown bits: refuse */
	struct pool_id pool;
	u8 role;
	u64 sequence;
	s64 created_sec;
	u8 hash_id;		/* 1 blake3, 2 sha256 */
	u8 chunk_method;	/* 1 content-defined, 2 fixed */
	u32 chunk_min, chunk_avg, chunk_max;
	u8 codec_id;
	s32 codec_level;
	u32 group_bytes;	/* raw bytes after which a group closes */
	u32 container_bytes;	/* stored bytes after which one closes */
	u32 container_chunks;	/* entries after which one closes */
	u8 delta_depth;		/* 0: no references */
	u8 engine;		/* enum super_engine, unless told otherwise */
	u8 verify;		/* enum super_verify, unless told otherwise */
	u8 parity;		/* percent, of new containers; 0: none */
	/* Keys for cutting and fingerprints derive from this seed, which pools
	 * made with --like share; the content key from the master alone. */
	u8 share_seed[32];
	struct super_key_slot keys[SUPER_KEY_SLOTS];
};

/* Both copies. */
int super_encode(const struct super *s, u8 out[SUPER_FILE_BYTES]);
/*
 * @len may be short (a cut file). *sound_ret (may be NULL) = how many of the
 * two copies are sound. Refuses unknown incompatible features.
 */
int super_decode(const void *data, size_t len, struct super *out,
		 int *sound_ret, struct akin_diag *diag);

#endif
