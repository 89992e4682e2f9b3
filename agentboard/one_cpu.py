"""Threads that share a GIL run no faster on two CPUs, only further apart: each worker process stays on one."""

import os
import re
from multiprocessing import current_process


def stay_on_one_cpu() -> None:
    """Bind this process to one of the CPUs it may run on; does nothing where the system has no such call (macOS).

    The workers of one server take turns; servers of a single worker spread over the CPUs by process id.
    """
    if not hasattr(os, "sched_setaffinity"):
        return
    cpus = sorted(os.sched_getaffinity(0))
    number = re.search(r"\d+$", current_process().name)  # uvicorn's workers are SpawnProcess-1, -2, …
    turn = int(number[0]) if number else os.getpid()
    os.sched_setaffinity(0, {cpus[turn % len(cpus)]})
