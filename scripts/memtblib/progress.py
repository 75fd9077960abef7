# SPDX-License-Identifier: GPL-2.0
"""Progress of long work on stderr: one moving line on a terminal, few lines elsewhere."""

import os
import re
import signal
import subprocess
import sys
import time

TTY_PERIOD_S = 0.2
LOG_PERIOD_S = 30


def clock(seconds):
    """m:ss."""
    return f"{int(seconds) // 60}:{int(seconds) % 60:02d}"


class Progress:
    """Shows a title, how long it took, and how long it will take if that is known."""

    def __init__(self, title, estimate_s=None, stream=None):
        self.title = title
        self.estimate_s = estimate_s
        self.stream = stream or sys.stderr
        self.tty = self.stream.isatty()
        self.started = time.monotonic()
        self.shown = 0.0
        self.width = 0

    def __enter__(self):
        about = f" (about {clock(self.estimate_s)} min)" if self.estimate_s else ""
        self._put(f"{self.title} ...{about}", last=not self.tty)
        return self

    def __exit__(self, kind, _value, _trace):
        word = "done" if kind is None else "stopped"
        self._put(f"{self.title}: {word} after {clock(self.elapsed())}", last=True)

    def elapsed(self):
        """Seconds since the start."""
        return time.monotonic() - self.started

    def update(self, done=None, total=None, detail=""):
        """Show where the work is: `done` of `total`, or by the time estimate alone."""
        now = time.monotonic()
        if now - max(self.shown, self.started) < (TTY_PERIOD_S if self.tty else LOG_PERIOD_S):
            return
        self.shown = now
        left = self._left(done, total)
        parts = [f"{self.title}: {clock(self.elapsed())}"]
        if done is not None and total:
            parts.append(f"{min(99, 100 * done // total)} %")
        if left is not None:
            parts.append(f"about {clock(left)} left")
        self._put(", ".join(parts) + (f"  {detail}" if detail else ""), last=not self.tty)

    def _left(self, done, total):
        elapsed = self.elapsed()
        if done and total and done >= total // 20:
            return max(0.0, elapsed * (total - done) / done)
        # Nothing is better than a nought that stays.
        if self.estimate_s and self.estimate_s > elapsed:
            return self.estimate_s - elapsed
        return None

    def _put(self, text, last):
        if self.tty:
            text = text[:119]
            self.stream.write("\r" + text.ljust(self.width))
            self.width = len(text)
        else:
            self.stream.write(text)
        if last:
            self.stream.write("\n")
            self.width = 0
        self.stream.flush()


def _stop(process):
    """End a child and everything it started (it leads its own process group)."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, number)
            process.wait(timeout=5)
            return
        except ProcessLookupError:
            return
        except subprocess.TimeoutExpired:
            continue


def run(command, log, title, steps=None, step=r"^\s+[A-Z]+\s", estimate_s=None,
        env=None, cwd=None):
    """Run a command with its output in the file `log`, showing progress.

    A line that matches `step` is one step of `steps`. Returns (exit code, steps seen).
    The child is stopped with its whole process group when we are interrupted.
    """
    pattern = re.compile(step)
    seen = 0
    with open(log, "ab") as out, Progress(title, estimate_s) as shown:
        out.write(("$ " + " ".join(map(str, command)) + "\n").encode())
        process = subprocess.Popen(  # pylint: disable=consider-using-with
            [str(word) for word in command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, env=env, cwd=cwd, start_new_session=True)
        try:
            for line in process.stdout:
                out.write(line)
                text = line.decode(errors="replace").rstrip()
                if pattern.match(text):
                    seen += 1
                    shown.update(seen, steps, text.strip()[:48])
            code = process.wait()
        except BaseException:
            _stop(process)
            raise
        finally:
            process.stdout.close()
        if code:
            shown.title += " (failed)"
    return code, seen


def tail(log, lines=25):
    """The end of a log, for an error message."""
    with open(log, encoding="utf-8", errors="replace") as text:
        return "".join(text.readlines()[-lines:]).rstrip()


def first_errors(log, lines=12):
    """The lines of a build log that say what went wrong, else its end."""
    wanted = re.compile(r"(error|undefined|warning|\*\*\*|No space left)", re.IGNORECASE)
    with open(log, encoding="utf-8", errors="replace") as text:
        found = [line.rstrip() for line in text if wanted.search(line)]
    return "\n".join(found[:lines]) if found else tail(log, lines)
