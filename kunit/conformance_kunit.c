// SPDX-License-Identifier: GPL-2.0
/*
 * memtb_conformance: every property of the contract, of every backend and of
 * each of its options alone, without checks and with debug=verify.
 */
#include <kunit/test.h>

#include "conformance.h"
#include "design.h"

struct memtb_conform_question {
	const struct memtb_conform_property *property;
	const struct memtb_backend *backend;
	unsigned long options;
};

static bool memtb_conform_question(unsigned int i,
				   struct memtb_conform_question *question)
{
	unsigned int nr = 0;

	while (memtb_conform_properties[nr].name)
		nr++;
	question->property = memtb_conform_properties + i % nr;
	question->backend = memtb_design(i / nr, &question->options);
	return question->backend;
}

/*
 * The next question that makes sense; @needs are capabilities that
 * it needs whatever the property is.  A parameter is the number of its question plus one.
 */
static const void *memtb_conform_next(const void *prev, char *desc,
				      unsigned int needs)
{
	struct memtb_conform_question question;
	unsigned long i = (unsigned long)prev;
	char design[MEMTB_DESIGN_MAX];

	for (; memtb_conform_question(i, &question); i++) {
		unsigned int flags = memtb_backend_flags(question.backend,
							 question.options);

		if ((needs | question.property->needs) & ~flags)
			continue;
		memtb_backend_design(question.backend, question.options,
				     design, sizeof(design));
		snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s: %s", design,
			 question.property->name);
		return (void *)(i + 1);
	}
	return NULL;
}

static const void *memtb_conform_plain(const void *prev, char *desc)
{
	return memtb_conform_next(prev, desc, 0);
}

static const void *memtb_conform_verified(const void *prev, char *desc)
{
	return memtb_conform_next(prev, desc, MEMTB_OWNS_PAGES);
}

static void memtb_conform_ask(struct kunit *test, unsigned int debug)
{
	struct memtb_heap_params params = { .debug = debug };
	struct memtb_conform_question question;
	const char *fault;

	memtb_conform_question((unsigned long)test->param_value - 1, &question);
	params.options = question.options;
	fault = memtb_conform_run(question.property, question.backend,
				  "conformance", &params);
	KUNIT_EXPECT_TRUE_MSG(test, !fault, "%s", fault);
}

static void holds(struct kunit *test)
{
	memtb_conform_ask(test, 0);
}

static void holds_when_verified(struct kunit *test)
{
	memtb_conform_ask(test, MEMTB_DEBUG_VERIFY);
}

static struct kunit_case memtb_conformance_cases[] = {
	KUNIT_CASE_PARAM(holds, memtb_conform_plain),
	KUNIT_CASE_PARAM(holds_when_verified, memtb_conform_verified),
	{}
};

static struct kunit_suite memtb_conformance_suite = {
	.name = "memtb_conformance",
	.test_cases = memtb_conformance_cases,
};
kunit_test_suite(memtb_conformance_suite);
