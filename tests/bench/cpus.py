"""Which CPU runs what, and what a process has used of it: read from /proc, so known on Linux alone."""

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

TICK_SECONDS = 1 / os.sysconf("SC_CLK_TCK")


def places() -> tuple[int | None, int | None]:
    """The CPU of the servers and that of the load: two, where there are two; None where there is no choice."""
    if not hasattr(os, "sched_getaffinity"):
        return None, None
    cpus = sorted(os.sched_getaffinity(0))
    return cpus[0], cpus[-1]


@contextmanager
def pinned(cpu: int | None) -> Iterator[None]:
    """Meanwhile, stay on one CPU: a process started now inherits that and keeps it."""
    if cpu is None:
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {cpu})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def used(pids: Iterable[int]) -> float:
    """CPU seconds, user and system, that the processes have used so far; 0 for those that can't be seen."""
    return sum(_ticks(pid) for pid in pids) * TICK_SECONDS


def busy() -> float:
    """CPU seconds that this machine has worked so far, in all processes and the kernel; 0 where it can't be seen."""
    try:
        fields = Path("/proc/stat").read_text().partition("\n")[0].split()[1:]
    except OSError:
        return 0.0
    user, nice, system, _idle, _waiting, interrupts, soft, *_ = map(int, fields)  # proc_stat(5)
    return (user + nice + system + interrupts + soft) * TICK_SECONDS


def _ticks(pid: int) -> int:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0
    return int(fields[11]) + int(fields[12])  # utime and stime, proc(5)


def anonymous_mib(pid: int) -> float | None:
    """The process's resident anonymous memory (RssAnon), or None where it can't be seen."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith("RssAnon:")), None)
