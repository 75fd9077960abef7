// SPDX-License-Identifier: GPL-2.0
/*
 * timed LABEL COMMAND [ARG...]: run a command and print what it took, as one line:
 *
 *   LABEL real_ns=N user_us=N sys_us=N machine_user_ns=N machine_sys_ns=N
 *   machine_idle_ns=N status=N
 *
 * user and sys are those of the command and all its waited-for descendants; the machine's
 * are those of everything that ran meanwhile, nfsd and rpciod included, from the debugfs
 * file of memtb_cputime.ko. The line goes to descriptor 4.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define OUT_FD 4
#define COMMAND_NOT_RUN 127

struct machine {
	unsigned long long user_ns;
	unsigned long long sys_ns;
	unsigned long long idle_ns;
};

static void die(const char *what)
{
	perror(what);
	exit(COMMAND_NOT_RUN);
}

static void read_machine(struct machine *m)
{
	const char *name = "/sys/kernel/debug/memtb_cputime";
	FILE *file = fopen(name, "r");

	if (!file)
		die(name);
	if (fscanf(file, "user_ns %llu system_ns %llu idle_ns %llu",
		   &m->user_ns, &m->sys_ns, &m->idle_ns) != 3)
		die("memtb_cputime: format");
	fclose(file);
}

static unsigned long long now_ns(void)
{
	struct timespec t;

	if (clock_gettime(CLOCK_MONOTONIC, &t))
		die("clock_gettime");
	return t.tv_sec * 1000000000ULL + t.tv_nsec;
}

static unsigned long long us(const struct timeval *t)
{
	return t->tv_sec * 1000000ULL + t->tv_usec;
}

static pid_t start(char **command)
{
	pid_t pid = fork();

	if (pid < 0)
		die("fork");
	if (pid == 0) {
		/* The channel and the report are nobody else's. */
		close(3);
		close(OUT_FD);
		execvp(command[0], command);
		perror(command[0]);
		_exit(COMMAND_NOT_RUN);
	}
	return pid;
}

int main(int argc, char **argv)
{
	struct machine before, after;
	unsigned long long begin, end;
	struct rusage usage;
	int status;
	pid_t pid;

	if (argc < 3) {
		fprintf(stderr, "usage: timed LABEL COMMAND [ARG...]\n");
		return COMMAND_NOT_RUN;
	}
	read_machine(&before);
	begin = now_ns();
	pid = start(argv + 2);
	if (wait4(pid, &status, 0, &usage) != pid)
		die("wait4");
	end = now_ns();
	read_machine(&after);
	status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	dprintf(OUT_FD, "%s real_ns=%llu user_us=%llu sys_us=%llu", argv[1], end - begin,
		us(&usage.ru_utime), us(&usage.ru_stime));
	dprintf(OUT_FD, " machine_user_ns=%llu machine_sys_ns=%llu machine_idle_ns=%llu",
		after.user_ns - before.user_ns, after.sys_ns - before.sys_ns,
		after.idle_ns - before.idle_ns);
	dprintf(OUT_FD, " status=%d\n", status);
	return status;
}
