/* SPDX-License-Identifier: GPL-2.0 */
/*
 * All designs, for suites that ask each of them the same.
 */
#ifndef MEMTB_KUNIT_DESIGN_H
#define MEMTB_KUNIT_DESIGN_H

#include "../module/backend/backend.h"

const struct memtb_backend *memtb_design(unsigned int i,
					 unsigned long *options);
const void *memtb_design_next(const void *prev, char *desc, unsigned int needs,
			      bool tuned);
const struct memtb_backend *memtb_design_of(const void *param,
					    unsigned long *options);

#endif /* MEMTB_KUNIT_DESIGN_H */
