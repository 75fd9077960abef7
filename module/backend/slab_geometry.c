// SPDX-License-Identifier: GPL-2.0
/*
 * Geometry of a slab, by the rules of Linux's SLAB as of 6.1.
 *
 * Three places for the list are tried in turn.  Inside a free object it costs
 * nothing, if it fits there and nobody reads free objects.  Off the slab it is
 * worth a block of its own only where it would not fit behind the objects
 * anyhow.  For each place the order grows from 0 until no more than an eighth
 * of the slab is left over, or slabs may not become larger.
 */
#include <linux/kernel.h>
#include <linux/log2.h>
#include <linux/slab.h>

#include "slab_geometry.h"

/* Short indices suffice while no page holds more than this many objects. */
#define MEMTB_SLAB_MIN_OBJECT	16
#define MEMTB_SLAB_SHORT	256
/* What is left over of a slab, at most. */
#define MEMTB_SLAB_WASTE	8

struct memtb_slab_trial {
	const struct memtb_slab_machine *machine;
	const struct memtb_slab_request *request;
	struct memtb_slab_geometry *geometry;
	size_t left;
};

static size_t memtb_slab_pages(const struct memtb_slab_machine *machine,
			       unsigned int order)
{
	return (size_t)1 << (machine->page_shift + order);
}

static size_t memtb_slab_min_object(const struct memtb_slab_machine *machine)
{
	return min_t(size_t, machine->min_class, MEMTB_SLAB_MIN_OBJECT);
}

static bool memtb_slab_short(const struct memtb_slab_machine *machine)
{
	return memtb_slab_pages(machine, 0) / MEMTB_SLAB_SHORT <=
	       memtb_slab_min_object(machine);
}

/**
 * memtb_slab_class - which general-purpose class serves a size
 * @machine: the machine
 * @size: bytes, at most two pages
 *
 * Powers of two, and 96 and 192 where the smallest class leaves room for them.
 *
 * Context: any.
 * Return: bytes of the class.
 */
size_t memtb_slab_class(const struct memtb_slab_machine *machine, size_t size)
{
	if (size <= machine->min_class)
		return machine->min_class;
	if (machine->min_class <= 32 && size > 64 && size <= 96)
		return 96;
	if (machine->min_class <= 64 && size > 128 && size <= 192)
		return 192;
	return roundup_pow_of_two(size);
}

/* Bytes that a list of @bytes off the slab takes, 0 if it has to be elsewhere. */
static size_t memtb_slab_off_slab(const struct memtb_slab_trial *trial,
				  size_t bytes)
{
	const struct memtb_slab_machine *machine = trial->machine;
	struct memtb_slab_request request = {};
	struct memtb_slab_geometry geometry;

	if (bytes > memtb_slab_pages(machine, 1))
		return roundup_pow_of_two(bytes);
	request.size = memtb_slab_class(machine, bytes);
	request.align = is_power_of_2(request.size) ? request.size :
						      sizeof(u64);
	/* Also ends the recursion: each class is half of the one before. */
	if (request.size > trial->request->size / 2)
		return 0;
	/* A list for the list's own cache would go round in a circle. */
	if (!memtb_slab_geometry(machine, &request, &geometry) ||
	    geometry.place == MEMTB_SLAB_OFF_SLAB)
		return 0;
	return request.size;
}

/* Objects in a slab of @order, and what is @left of it. */
static size_t memtb_slab_objects(const struct memtb_slab_trial *trial,
				 unsigned int order, size_t *left)
{
	const struct memtb_slab_geometry *geometry = trial->geometry;
	size_t size = memtb_slab_pages(trial->machine, order);
	size_t each = geometry->stride;

	if (geometry->place == MEMTB_SLAB_ON_SLAB)
		each += geometry->index;
	*left = size % each;
	return size / each;
}

static bool memtb_slab_large_enough(const struct memtb_slab_trial *trial)
{
	const struct memtb_slab_machine *machine = trial->machine;
	unsigned int order = trial->geometry->order;

	return trial->request->flags & SLAB_RECLAIM_ACCOUNT ||
	       order >= machine->max_order ||
	       trial->left * MEMTB_SLAB_WASTE <= memtb_slab_pages(machine, order);
}

/* Find the order for the place that is set; geometry->nr stays 0 without one. */
static void memtb_slab_order(struct memtb_slab_trial *trial)
{
	struct memtb_slab_geometry *geometry = trial->geometry;
	size_t most = memtb_slab_short(trial->machine) ? U8_MAX : U16_MAX;
	size_t nr, left, off;
	unsigned int order;

	geometry->nr = 0;
	for (order = 0; order <= trial->machine->page_order; order++) {
		nr = memtb_slab_objects(trial, order, &left);
		if (!nr)
			continue;
		if (nr > most)
			break;
		if (geometry->place == MEMTB_SLAB_OFF_SLAB) {
			off = memtb_slab_off_slab(trial, nr * geometry->index);
			if (!off || off > trial->request->size / 2)
				continue;
		}
		geometry->nr = nr;
		geometry->order = order;
		trial->left = left;
		if (memtb_slab_large_enough(trial))
			break;
	}
}

static bool memtb_slab_try(struct memtb_slab_trial *trial,
			   enum memtb_slab_place place)
{
	const struct memtb_slab_request *request = trial->request;
	struct memtb_slab_geometry *geometry = trial->geometry;
	size_t list;

	if (place == MEMTB_SLAB_IN_OBJECT &&
	    (request->constructed || request->flags & SLAB_TYPESAFE_BY_RCU))
		return false;
	if (place == MEMTB_SLAB_OFF_SLAB && request->flags & SLAB_NOLEAKTRACE)
		return false;
	geometry->place = place;
	memtb_slab_order(trial);
	list = (size_t)geometry->nr * geometry->index;
	if (!geometry->nr ||
	    (place == MEMTB_SLAB_IN_OBJECT && list > request->size) ||
	    (place == MEMTB_SLAB_OFF_SLAB && list <= trial->left))
		return false;
	geometry->colours = max_t(size_t, trial->left / geometry->colour, 1);
	return true;
}

/* Bytes per object with what debugging adds. */
static size_t memtb_slab_stride(const struct memtb_slab_machine *machine,
				const struct memtb_slab_request *request,
				size_t align)
{
	slab_flags_t flags = request->flags;
	size_t size = ALIGN(request->size, machine->word);
	bool zone = flags & SLAB_RED_ZONE, user = flags & SLAB_STORE_USER;

	/* Both would move the object off a larger alignment. */
	if (align <= sizeof(u64)) {
		if (zone)
			size = ALIGN(size, sizeof(u64)) + 2 * sizeof(u64);
		if (user)
			size += zone ? sizeof(u64) : machine->word;
	}
	size = ALIGN(size, align);
	if (memtb_slab_short(machine) && size < memtb_slab_min_object(machine))
		size = ALIGN(memtb_slab_min_object(machine), align);
	return size;
}

/**
 * memtb_slab_geometry - the slabs of a cache
 * @machine: where
 * @request: which
 * @geometry: filled in
 *
 * Context: any.
 * Return: false if no slab can hold an object.
 */
bool memtb_slab_geometry(const struct memtb_slab_machine *machine,
			 const struct memtb_slab_request *request,
			 struct memtb_slab_geometry *geometry)
{
	size_t align = max_t(size_t, request->align, machine->word);
	struct memtb_slab_trial trial = {
		.machine = machine, .request = request, .geometry = geometry,
	};

	if (request->flags & SLAB_RED_ZONE)
		align = max_t(size_t, align, sizeof(u64));
	geometry->stride = memtb_slab_stride(machine, request, align);
	geometry->index = memtb_slab_short(machine) ? sizeof(u8) : sizeof(u16);
	geometry->colour = max_t(size_t, machine->cache_line, align);
	return memtb_slab_try(&trial, MEMTB_SLAB_IN_OBJECT) ||
	       memtb_slab_try(&trial, MEMTB_SLAB_OFF_SLAB) ||
	       memtb_slab_try(&trial, MEMTB_SLAB_ON_SLAB);
}
