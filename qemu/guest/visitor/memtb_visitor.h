/* SPDX-License-Identifier: GPL-2.0 */
/* What one visiting module gives to the other. */
#ifndef MEMTB_VISITOR_H
#define MEMTB_VISITOR_H

char *memtb_visitor_greet(const char *name);

#endif
