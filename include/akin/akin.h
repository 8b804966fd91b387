/* SPDX-License-Identifier: Apache-2.0 */
/* Everything of libakin. */
#ifndef AKIN_H
#define AKIN_H

#include "akin/backup.h"
#include "akin/check.h"
#include "akin/copy.h"
#include "akin/counters.h"
#include "akin/error.h"
#include "akin/gc.h"
#include "akin/optimize.h"
#include "akin/pool.h"
#include "akin/repair.h"
#include "akin/restore.h"
#include "akin/retention.h"
#include "akin/session.h"
#include "akin/snapshot.h"
#include "akin/upgrade.h"

#endif
