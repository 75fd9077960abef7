// SPDX-License-Identifier: GPL-2.0
/*
 * debugfs: /sys/kernel/debug/memtb.
 *
 * As everywhere in debugfs, a file that cannot be made is only missing.
 */
#include <linux/debugfs.h>
#include <linux/module.h>
#include <linux/seq_file.h>
#include <linux/uaccess.h>

#include "../backend/backend.h"
#include "control.h"

/* Longer than any word that a file here takes. */
#define MEMTB_WORD_MAX	32
/* A cache's name and three numbers. */
#define MEMTB_LINE_MAX	(MEMTB_NAME_MAX + 64)

static struct dentry *memtb_debugfs;

/* The heap's own in brackets, with its options. */
static int memtb_backends_show(struct seq_file *m, void *unused)
{
	struct memtb_heap *heap = m->private;
	const struct memtb_backend *backend;
	char design[MEMTB_DESIGN_MAX];
	unsigned int i;

	memtb_backend_design(heap->backend, heap->params.options, design,
			     sizeof(design));
	for (i = 0; (backend = memtb_backend_nth(i)); i++) {
		if (backend == heap->backend)
			seq_printf(m, "%s[%s]", i ? " " : "", design);
		else
			seq_printf(m, "%s%s", i ? " " : "", backend->name);
	}
	seq_putc(m, '\n');
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(memtb_backends);

static int memtb_stats_show(struct seq_file *m, void *unused)
{
	struct memtb_stats stats;
	unsigned int i;

	memtb_heap_stats(m->private, &stats);
	seq_printf(m, "pages_now %llu\n", stats.pages_now);
	seq_printf(m, "pages_desc %llu\n", stats.pages_desc);
	seq_printf(m, "pages_peak %llu\n", stats.pages_peak);
	seq_printf(m, "pages_got %llu\n", stats.pages_got);
	seq_printf(m, "pages_put %llu\n", stats.pages_put);
	seq_printf(m, "pages_failed %llu\n", stats.pages_failed);
	seq_printf(m, "objects_live %llu\n", stats.objects_live);
	for (i = 0; i < MEMTB_NR_STATS; i++)
		seq_printf(m, "%s %llu\n", memtb_stat_names[i], stats.v[i]);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(memtb_stats);

static int memtb_check_show(struct seq_file *m, void *unused)
{
	seq_printf(m, "violations %lu\n", memtb_heap_check(m->private));
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(memtb_check);

/* The columns of /proc/slabinfo 2.1; what a design does not count is zero. */
static void memtb_slabinfo_line(struct seq_file *m, struct memtb_cache *cache)
{
	struct memtb_cache_info info;

	memtb_cache_info(cache, &info);
	seq_printf(m, "%-17s %6lu %6lu %6zu %4u %4u", cache->name,
		   info.active_objs, info.num_objs, info.stride,
		   info.objs_per_slab, info.pages_per_slab);
	seq_printf(m, " : tunables %4u %4u %4u", info.limit, info.batch,
		   info.shared);
	seq_printf(m, " : slabdata %6lu %6lu %6lu\n", info.active_slabs,
		   info.num_slabs, info.shared_avail);
}

static int memtb_slabinfo_show(struct seq_file *m, void *unused)
{
	struct memtb_heap *heap = m->private;
	struct memtb_cache *cache;

	seq_puts(m, "slabinfo - version: 2.1\n");
	seq_puts(m, "# name            <active_objs> <num_objs> <objsize> <objperslab> <pagesperslab>");
	seq_puts(m, " : tunables <limit> <batchcount> <sharedfactor>");
	seq_puts(m, " : slabdata <active_slabs> <num_slabs> <sharedavail>\n");
	mutex_lock(&heap->lock);
	list_for_each_entry(cache, &heap->caches, node)
		memtb_slabinfo_line(m, cache);
	mutex_unlock(&heap->lock);
	return 0;
}

static int memtb_slabinfo_open(struct inode *inode, struct file *file)
{
	return single_open(file, memtb_slabinfo_show, inode->i_private);
}

/* Why a cache was not tuned, in one line. */
static void memtb_slabinfo_refuse(struct memtb_heap *heap, const char *name,
				  int err)
{
	if (err == -EOPNOTSUPP)
		pr_err("slabinfo: backend %s has nothing to tune\n",
		       heap->backend->name);
	else if (err == -ENOENT)
		pr_err("slabinfo: no cache %*pE, slabinfo lists them\n",
		       (int)strlen(name), name);
	else
		pr_err("slabinfo: write NAME LIMIT BATCHCOUNT SHARED, 1 <= BATCHCOUNT <= LIMIT <= %d, SHARED <= %d\n",
		       MEMTB_TUNE_LIMIT_MAX, MEMTB_TUNE_SHARED_MAX);
}

/* Three and no more; sscanf() would take each modulo 2^32. */
static int memtb_slabinfo_numbers(char *words, unsigned int number[3])
{
	unsigned int nr = 0;
	char *word;

	while ((word = strsep(&words, " "))) {
		if (!*word)
			continue;
		if (nr == 3 || kstrtouint(word, 10, &number[nr++]))
			return -EINVAL;
	}
	return nr == 3 ? 0 : -EINVAL;
}

/*
 * As in /proc/slabinfo: the name of a cache and its tunables.  For the new arrays
 * the kernel may make what it never gives back.
 */
static int memtb_slabinfo_tune(struct memtb_heap *heap, char *line)
{
	unsigned int number[3];
	char *name = strsep(&line, " ");
	int err = memtb_slabinfo_numbers(line, number);

	if (!err) {
		memtb_live_aside();
		err = memtb_cache_tune(heap, name, number[0], number[1],
				       number[2]);
		memtb_live_aside_end();
	}
	if (err && err != -ENOMEM)
		memtb_slabinfo_refuse(heap, name, err);
	return err;
}

static ssize_t memtb_slabinfo_write(struct file *file, const char __user *from,
				    size_t count, loff_t *pos)
{
	struct seq_file *m = file->private_data;
	char line[MEMTB_LINE_MAX];
	size_t length = min(count, sizeof(line) - 1);
	int err;

	if (copy_from_user(line, from, length))
		return -EFAULT;
	line[length] = '\0';
	/* What does not fit, or hides behind a NUL, is no name to look for. */
	if (length < count || strlen(line) < length)
		*line = '\0';
	err = memtb_slabinfo_tune(m->private, strim(line));
	return err ?: count;
}

static const struct file_operations memtb_slabinfo_fops = {
	.owner = THIS_MODULE,
	.open = memtb_slabinfo_open,
	.read = seq_read,
	.write = memtb_slabinfo_write,
	.llseek = seq_lseek,
	.release = single_release,
};

static ssize_t memtb_shrink_write(struct file *file, const char __user *from,
				  size_t count, loff_t *pos)
{
	unsigned int value;

	if (kstrtouint_from_user(from, count, 10, &value) || value != 1) {
		pr_err("shrink: write 1\n");
		return -EINVAL;
	}
	memtb_heap_shrink(file_inode(file)->i_private);
	return count;
}

static const struct file_operations memtb_shrink_fops = {
	.owner = THIS_MODULE,
	.open = simple_open,
	.write = memtb_shrink_write,
	.llseek = no_llseek,
};

static int memtb_live_seq_show(struct seq_file *m, void *unused)
{
	memtb_live_show(m);
	return 0;
}

static int memtb_live_open(struct inode *inode, struct file *file)
{
	return single_open(file, memtb_live_seq_show, inode->i_private);
}

static ssize_t memtb_live_write(struct file *file, const char __user *from,
				size_t count, loff_t *pos)
{
	enum memtb_live_mode mode;
	char word[MEMTB_WORD_MAX];
	size_t length = min(count, sizeof(word) - 1);
	int err;

	if (copy_from_user(word, from, length))
		return -EFAULT;
	word[length] = '\0';
	if (length < count || strlen(word) < length)
		return memtb_live_refuse(word);
	err = memtb_live_parse(strim(word), &mode);
	if (!err)
		err = memtb_live_set(mode);
	return err ?: count;
}

static const struct file_operations memtb_live_fops = {
	.owner = THIS_MODULE,
	.open = memtb_live_open,
	.read = seq_read,
	.write = memtb_live_write,
	.llseek = seq_lseek,
	.release = single_release,
};

/*
 * debugfs allocates a file's private data when it is first opened and keeps it
 * as long as the file.  Out of the live heap, that would be an object that never
 * comes home, so it is made here, while the heap is not live yet.
 */
static void memtb_debugfs_file(const char *name, umode_t mode,
			       struct dentry *dir, struct memtb_heap *heap,
			       const struct file_operations *fops)
{
	struct dentry *file = debugfs_create_file(name, mode, dir, heap, fops);

	if (!IS_ERR(file) && !debugfs_file_get(file))
		debugfs_file_put(file);
}

void memtb_debugfs_init(struct memtb_heap *heap)
{
	struct dentry *dir;

	memtb_debugfs = debugfs_create_dir("memtb", NULL);
	memtb_debugfs_file("backends", 0444, memtb_debugfs, heap,
			   &memtb_backends_fops);
	memtb_debugfs_file("live", 0644, memtb_debugfs, heap, &memtb_live_fops);

	dir = debugfs_create_dir(heap->name,
				 debugfs_create_dir("heaps", memtb_debugfs));
	memtb_debugfs_file("stats", 0444, dir, heap, &memtb_stats_fops);
	memtb_debugfs_file("slabinfo", 0644, dir, heap, &memtb_slabinfo_fops);
	memtb_debugfs_file("check", 0444, dir, heap, &memtb_check_fops);
	memtb_debugfs_file("shrink", 0200, dir, heap, &memtb_shrink_fops);
}

void memtb_debugfs_exit(void)
{
	debugfs_remove(memtb_debugfs);
}
