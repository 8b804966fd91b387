/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parity of containers that are written: as much as the pool says. Whoever
 * writes one goes on without it where it cannot be made.
 */
#include "container/container_parity.h"
#include "depot/depot.h"

u64 depot_parity_add(struct depot *d, u64 number, u32 generation)
{
	const struct container_id id = { number, generation };
	u64 bytes = 0;

	if (!d->super.parity)
		return 0;
	if (container_parity_write(d->data, &d->super.pool, &id,
				   d->super.parity, &bytes, NULL))
		counters_add(d->counters, parity_failed, 1);
	counters_add(d->counters, parity_stored, bytes);
	return bytes;
}

void depot_container_remove(struct depot *d, u64 number, u32 generation)
{
	const struct container_id id = { number, generation };
	char name[FORMAT_NAME_MAX];
	u64 bytes;

	/* Parity first, so that there is none without a container. */
	ignore_result(container_parity_remove(d->data, &id, &bytes, NULL));
	format_container_name(number, generation, name);
	ignore_result(disk_unlink(d->data, name, NULL));
}
