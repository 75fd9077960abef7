// SPDX-License-Identifier: GPL-2.0
/*
 * memtb_slab_geometry: slabs of any machine, as numbers.
 *
 * The table was made by a second implementation of the same rules in another
 * language; those of 64-bit with pages of 4 KiB are compared with the kernel's
 * own, all sizes, in slab_fidelity_kunit.c.  The sweep asks what must hold for
 * any geometry.
 */
#include <kunit/test.h>

#include "../module/backend/slab_geometry.c"

enum memtb_geometry_machine {
	MEMTB_64_4K,
	MEMTB_32_4K,
	MEMTB_32_4K_SMALL,
	MEMTB_64_16K,
	MEMTB_64_64K,
	MEMTB_32_16K,
	MEMTB_NR_MACHINES,
};

/* Page shift, word, cache line, smallest class, order of slabs, of pages. */
static const struct memtb_slab_machine memtb_geometry_machines[] = {
	[MEMTB_64_4K] = { 12, 8, 64, 32, 1, 10 },
	[MEMTB_32_4K] = { 12, 4, 64, 32, 1, 10 },
	[MEMTB_32_4K_SMALL] = { 12, 4, 32, 32, 0, 10 },
	[MEMTB_64_16K] = { 14, 8, 64, 128, 1, 10 },
	[MEMTB_64_64K] = { 16, 8, 64, 128, 1, 9 },
	[MEMTB_32_16K] = { 14, 4, 32, 128, 1, 10 },
};

/* Traits: Constructor, type-safe by Rcu, reclAimable, no Leak tracing. */
struct memtb_geometry_case {
	enum memtb_geometry_machine machine;
	size_t size;
	size_t align;
	const char *traits;
	struct memtb_slab_geometry want;
};

static const struct memtb_geometry_case memtb_geometry_table[] = {
	{ MEMTB_64_4K, 8, 8, "",
	  { 16, 0, 240, MEMTB_SLAB_ON_SLAB, 1, 1, 64 } },
	{ MEMTB_64_4K, 16, 8, "",
	  { 16, 0, 240, MEMTB_SLAB_ON_SLAB, 1, 1, 64 } },
	{ MEMTB_64_4K, 24, 8, "",
	  { 24, 0, 163, MEMTB_SLAB_ON_SLAB, 1, 1, 64 } },
	{ MEMTB_64_4K, 64, 64, "",
	  { 64, 0, 64, MEMTB_SLAB_IN_OBJECT, 1, 1, 64 } },
	{ MEMTB_64_4K, 64, 64, "C",
	  { 64, 0, 63, MEMTB_SLAB_ON_SLAB, 1, 1, 64 } },
	{ MEMTB_64_4K, 96, 8, "",
	  { 96, 0, 42, MEMTB_SLAB_IN_OBJECT, 1, 1, 64 } },
	{ MEMTB_64_4K, 128, 8, "C",
	  { 128, 0, 32, MEMTB_SLAB_OFF_SLAB, 1, 1, 64 } },
	{ MEMTB_64_4K, 128, 8, "CL",
	  { 128, 0, 31, MEMTB_SLAB_ON_SLAB, 1, 1, 64 } },
	/* An eighth is left, and no more. */
	{ MEMTB_64_4K, 3584, 8, "",
	  { 3584, 0, 1, MEMTB_SLAB_IN_OBJECT, 1, 8, 64 } },
	{ MEMTB_64_4K, 192, 64, "",
	  { 192, 0, 21, MEMTB_SLAB_IN_OBJECT, 1, 1, 64 } },
	{ MEMTB_64_4K, 320, 8, "",
	  { 320, 0, 12, MEMTB_SLAB_IN_OBJECT, 1, 4, 64 } },
	{ MEMTB_64_4K, 320, 8, "R",
	  { 320, 0, 12, MEMTB_SLAB_ON_SLAB, 1, 3, 64 } },
	{ MEMTB_64_4K, 1096, 64, "",
	  { 1152, 1, 7, MEMTB_SLAB_IN_OBJECT, 1, 2, 64 } },
	{ MEMTB_64_4K, 1096, 64, "A",
	  { 1152, 0, 3, MEMTB_SLAB_IN_OBJECT, 1, 10, 64 } },
	{ MEMTB_64_4K, 2112, 64, "C",
	  { 2112, 1, 3, MEMTB_SLAB_ON_SLAB, 1, 28, 64 } },
	{ MEMTB_64_4K, 3000, 8, "",
	  { 3000, 1, 2, MEMTB_SLAB_IN_OBJECT, 1, 34, 64 } },
	{ MEMTB_64_4K, 4104, 8, "",
	  { 4104, 1, 1, MEMTB_SLAB_IN_OBJECT, 1, 63, 64 } },
	{ MEMTB_64_4K, 8192, 4096, "",
	  { 8192, 1, 1, MEMTB_SLAB_IN_OBJECT, 1, 1, 4096 } },
	{ MEMTB_64_4K, 70000, 8, "",
	  { 70000, 5, 1, MEMTB_SLAB_IN_OBJECT, 1, 954, 64 } },
	{ MEMTB_32_4K, 20, 4, "",
	  { 20, 0, 195, MEMTB_SLAB_ON_SLAB, 1, 1, 64 } },
	{ MEMTB_32_4K, 52, 4, "C",
	  { 52, 0, 77, MEMTB_SLAB_ON_SLAB, 1, 1, 64 } },
	{ MEMTB_32_4K, 1092, 4, "",
	  { 1092, 1, 7, MEMTB_SLAB_IN_OBJECT, 1, 8, 64 } },
	{ MEMTB_32_4K_SMALL, 96, 8, "",
	  { 96, 0, 42, MEMTB_SLAB_IN_OBJECT, 1, 2, 32 } },
	{ MEMTB_32_4K_SMALL, 3000, 8, "",
	  { 3000, 0, 1, MEMTB_SLAB_IN_OBJECT, 1, 34, 32 } },
	{ MEMTB_32_4K_SMALL, 1500, 32, "",
	  { 1504, 0, 2, MEMTB_SLAB_IN_OBJECT, 1, 34, 32 } },
	{ MEMTB_64_16K, 8, 8, "",
	  { 8, 0, 1638, MEMTB_SLAB_ON_SLAB, 2, 1, 64 } },
	{ MEMTB_64_16K, 40, 8, "",
	  { 40, 0, 390, MEMTB_SLAB_ON_SLAB, 2, 1, 64 } },
	{ MEMTB_64_16K, 128, 128, "",
	  { 128, 0, 126, MEMTB_SLAB_ON_SLAB, 2, 1, 128 } },
	{ MEMTB_64_16K, 256, 8, "C",
	  { 256, 0, 64, MEMTB_SLAB_OFF_SLAB, 2, 1, 64 } },
	{ MEMTB_64_16K, 3000, 8, "",
	  { 3000, 0, 5, MEMTB_SLAB_IN_OBJECT, 2, 21, 64 } },
	{ MEMTB_64_16K, 9000, 8, "",
	  { 9000, 1, 3, MEMTB_SLAB_IN_OBJECT, 2, 90, 64 } },
	{ MEMTB_64_64K, 8, 8, "",
	  { 8, 0, 6553, MEMTB_SLAB_ON_SLAB, 2, 1, 64 } },
	{ MEMTB_64_64K, 192, 8, "",
	  { 192, 0, 337, MEMTB_SLAB_ON_SLAB, 2, 2, 64 } },
	{ MEMTB_64_64K, 512, 8, "C",
	  { 512, 0, 128, MEMTB_SLAB_OFF_SLAB, 2, 1, 64 } },
	{ MEMTB_64_64K, 1000, 8, "",
	  { 1000, 0, 65, MEMTB_SLAB_IN_OBJECT, 2, 8, 64 } },
	{ MEMTB_64_64K, 5000, 64, "A",
	  { 5056, 0, 12, MEMTB_SLAB_IN_OBJECT, 2, 76, 64 } },
	{ MEMTB_64_64K, 70000, 8, "",
	  { 70000, 1, 1, MEMTB_SLAB_IN_OBJECT, 2, 954, 64 } },
	{ MEMTB_32_16K, 12, 4, "",
	  { 12, 0, 1170, MEMTB_SLAB_ON_SLAB, 2, 1, 32 } },
	{ MEMTB_32_16K, 600, 4, "",
	  { 600, 0, 27, MEMTB_SLAB_IN_OBJECT, 2, 5, 32 } },
};

static struct memtb_slab_request
memtb_geometry_request(size_t size, size_t align, const char *traits)
{
	struct memtb_slab_request request = { .size = size, .align = align };

	request.constructed = strchr(traits, 'C');
	if (strchr(traits, 'R'))
		request.flags |= SLAB_TYPESAFE_BY_RCU;
	if (strchr(traits, 'A'))
		request.flags |= SLAB_RECLAIM_ACCOUNT;
	if (strchr(traits, 'L'))
		request.flags |= SLAB_NOLEAKTRACE;
	return request;
}

static void memtb_geometry_describe(const struct memtb_geometry_case *row,
				    char *desc)
{
	const struct memtb_slab_machine *machine =
		&memtb_geometry_machines[row->machine];

	snprintf(desc, KUNIT_PARAM_DESC_SIZE,
		 "%u-bit pages of %u KiB lines of %u size %zu align %zu %s",
		 machine->word * 8, 1 << (machine->page_shift - 10),
		 machine->cache_line, row->size, row->align, row->traits);
}

KUNIT_ARRAY_PARAM(memtb_geometry, memtb_geometry_table, memtb_geometry_describe);

static void the_table_is_met(struct kunit *test)
{
	const struct memtb_geometry_case *row = test->param_value;
	struct memtb_slab_request request;
	struct memtb_slab_geometry got;

	request = memtb_geometry_request(row->size, row->align, row->traits);
	KUNIT_ASSERT_TRUE(test, memtb_slab_geometry(&memtb_geometry_machines[row->machine],
						    &request, &got));
	KUNIT_EXPECT_EQ(test, got.stride, row->want.stride);
	KUNIT_EXPECT_EQ(test, got.order, row->want.order);
	KUNIT_EXPECT_EQ(test, got.nr, row->want.nr);
	KUNIT_EXPECT_EQ(test, got.place, row->want.place);
	KUNIT_EXPECT_EQ(test, got.index, row->want.index);
	KUNIT_EXPECT_EQ(test, got.colours, row->want.colours);
	KUNIT_EXPECT_EQ(test, got.colour, row->want.colour);
}

/* What a geometry has to be, whatever the rules: NULL or what it is not. */
static const char *memtb_geometry_wrong(const struct memtb_slab_machine *machine,
					const struct memtb_slab_request *request,
					const struct memtb_slab_geometry *got)
{
	size_t slab = (size_t)1 << (machine->page_shift + got->order);
	size_t list = got->nr * got->index;
	size_t used = got->nr * got->stride;

	if (got->stride < request->size || got->stride % request->align)
		return "the stride does not fit the object";
	if (!got->nr || got->nr > (got->index == 1 ? 255 : 65535))
		return "the index does not count the objects";
	if (got->place == MEMTB_SLAB_ON_SLAB)
		used += list;
	if (used + (got->colours - 1) * got->colour > slab)
		return "the last colour does not fit";
	if (got->colour % request->align)
		return "a colour breaks the alignment";
	if (got->place == MEMTB_SLAB_IN_OBJECT &&
	    (list > request->size || request->constructed))
		return "the list does not fit into an object";
	if (got->order > machine->max_order && got->nr > 1)
		return "a slab is larger than it has to be";
	return NULL;
}

/* Every size up to eight pages in steps of a word, with some traits. */
static void every_geometry_is_sound(struct kunit *test)
{
	static const char * const traits[] = { "", "C", "R", "A", "CL" };
	const struct memtb_slab_machine *machine = memtb_geometry_machines;
	struct memtb_slab_request request;
	struct memtb_slab_geometry got;
	unsigned int asked = 0, i;
	const char *wrong;
	size_t size, align;

	for (; machine < memtb_geometry_machines + MEMTB_NR_MACHINES; machine++)
		for (size = 1; size <= 8UL << machine->page_shift; size += 61)
			for (align = 4; align <= 4096; align *= 8)
				for (i = 0; i < ARRAY_SIZE(traits); i++, asked++) {
					request = memtb_geometry_request(size, align, traits[i]);
					wrong = "there is none";
					if (memtb_slab_geometry(machine, &request, &got))
						wrong = memtb_geometry_wrong(machine, &request, &got);
					KUNIT_EXPECT_TRUE_MSG(test, !wrong, "page shift %u size %zu align %zu %s: %s",
							      machine->page_shift, size, align, traits[i], wrong);
				}
	kunit_info(test, "%u geometries\n", asked);
	KUNIT_EXPECT_GT(test, asked, 100000);
}

static void what_no_slab_can_hold_is_refused(struct kunit *test)
{
	struct memtb_slab_request request = { .size = 4 << 20, .align = 8 };
	struct memtb_slab_geometry got;

	KUNIT_EXPECT_TRUE(test, memtb_slab_geometry(&memtb_geometry_machines[MEMTB_64_4K],
						    &request, &got));
	request.size++;
	KUNIT_EXPECT_FALSE(test, memtb_slab_geometry(&memtb_geometry_machines[MEMTB_64_4K],
						     &request, &got));
}

/* Red zones and the last user's word; none where they would break alignment. */
static void debugging_makes_objects_longer(struct kunit *test)
{
	static const struct {
		size_t align;
		slab_flags_t flags;
		size_t stride;
	} want[] = {
		{ 4, 0, 52 }, { 8, 0, 56 },
		{ 4, SLAB_RED_ZONE, 72 }, { 4, SLAB_STORE_USER, 56 },
		{ 8, SLAB_RED_ZONE | SLAB_STORE_USER, 80 },
		{ 16, SLAB_RED_ZONE | SLAB_STORE_USER, 64 },
	};
	struct memtb_slab_request request = { .size = 50 };
	struct memtb_slab_geometry got;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(want); i++) {
		request.align = want[i].align;
		request.flags = want[i].flags;
		memtb_slab_geometry(&memtb_geometry_machines[MEMTB_32_4K],
				    &request, &got);
		KUNIT_EXPECT_EQ(test, got.stride, want[i].stride);
	}
}

static void classes_serve_what_fits_them(struct kunit *test)
{
	static const size_t want[][4] = {
		/* size, class above 32 bytes, above 64, above 128 */
		{ 1, 32, 64, 128 }, { 32, 32, 64, 128 }, { 33, 64, 64, 128 },
		{ 64, 64, 64, 128 }, { 65, 96, 128, 128 }, { 96, 96, 128, 128 },
		{ 97, 128, 128, 128 }, { 128, 128, 128, 128 },
		{ 129, 192, 192, 256 }, { 192, 192, 192, 256 },
		{ 193, 256, 256, 256 }, { 4097, 8192, 8192, 8192 },
	};
	struct memtb_slab_machine machine;
	unsigned int i, k;

	for (i = 0; i < ARRAY_SIZE(want); i++) {
		for (k = 1; k <= 3; k++) {
			machine.min_class = 16 << k;
			KUNIT_EXPECT_EQ(test, memtb_slab_class(&machine, want[i][0]),
					want[i][k]);
		}
	}
}

static struct kunit_case memtb_slab_geometry_cases[] = {
	KUNIT_CASE_PARAM(the_table_is_met, memtb_geometry_gen_params),
	KUNIT_CASE(every_geometry_is_sound),
	KUNIT_CASE(what_no_slab_can_hold_is_refused),
	KUNIT_CASE(debugging_makes_objects_longer),
	KUNIT_CASE(classes_serve_what_fits_them),
	{}
};

static struct kunit_suite memtb_slab_geometry_suite = {
	.name = "memtb_slab_geometry",
	.test_cases = memtb_slab_geometry_cases,
};
kunit_test_suite(memtb_slab_geometry_suite);
