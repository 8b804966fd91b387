/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What every back end of os/disk.h promises, as one test for all of them.
 */
#ifndef DISK_CONTRACT_H
#define DISK_CONTRACT_H

#include "os/disk.h"

/* @d is empty and writable, and label "data"; leaves files behind. */
void disk_contract(struct disk *d);

#endif
