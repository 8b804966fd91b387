/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading back what was written, before anybody counts on it.
 *
 * A container that was sealed and synced is opened as any reader would open it,
 * its directory compared with the one in memory, and each of its groups read,
 * decoded and compared with its fingerprints. What the kernel has in memory of
 * the file is dropped before, as far as the kernel does so; a device may still
 * answer from a cache of its own. docs/design/verify.md says what that proves.
 */
#ifndef INGEST_READ_BACK_H
#define INGEST_READ_BACK_H

#include "container/container_writer.h"
#include "depot/depot.h"

/*
 * @w has been sealed. Uses the depot's workers and waits for them, so not to
 * be called from one. Any error means that the file is not what was written.
 */
int read_back(struct depot *d, struct container_writer *w,
	      struct akin_diag *diag) __must_check;

#endif
