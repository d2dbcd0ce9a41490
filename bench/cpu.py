"""CPU time of the machine: used, stolen by the host, used by processes that the benchmark did not start."""

import os
from typing import NamedTuple

TICKS = os.sysconf("SC_CLK_TCK")
KERNEL_THREAD = 0x00200000  # PF_KTHREAD


class Times(NamedTuple):
    """Seconds since boot, summed over the CPUs."""

    busy: float  # by programs and the kernel; without `steal`
    steal: float  # the host ran something else
    idle: float


class Process(NamedTuple):
    pid: int
    parent: int
    kernel: bool
    seconds: float  # its own and that of the children that it has reaped


def parse_times(text):
    """The first line of /proc/stat. Guest time is in user time."""
    user, nice, system, idle, iowait, irq, softirq, steal = (int(word) / TICKS for word in text.split()[1:9])
    return Times(user + nice + system + irq + softirq, steal, idle + iowait)


def times():
    with open("/proc/stat", encoding="ascii") as file:
        return parse_times(file.readline())


def parse_process(text):
    """/proc/PID/stat. The name in parentheses may itself contain spaces and parentheses."""
    pid = int(text.split(" ", 1)[0])
    fields = text.rpartition(")")[2].split()  # from field 3 of proc(5) on
    return Process(pid, int(fields[1]), bool(int(fields[6]) & KERNEL_THREAD), sum(int(word) for word in fields[11:15]) / TICKS)


def processes():
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat", encoding="utf-8", errors="replace") as file:
                    found.append(parse_process(file.read()))
            except (FileNotFoundError, ProcessLookupError):  # it has ended
                pass
    return found


def foreign_seconds(found, root):
    """CPU seconds of the processes that are not `root` or its descendants. Kernel threads work for all and are not counted.

    A process's time moves to its parent when the parent reaps it, so that the sum does not change at its end.
    """
    parents = {each.pid: each.parent for each in found}

    def ours(pid):
        while pid in parents and pid != root:
            pid = parents[pid]
        return pid == root

    return sum(each.seconds for each in found if not each.kernel and not ours(each.pid))


class Snapshot(NamedTuple):
    times: Times
    foreign: float


def snapshot():
    return Snapshot(times(), foreign_seconds(processes(), os.getpid()))


class Usage(NamedTuple):
    """Between two snapshots."""

    busy_seconds: float  # without foreign processes
    steal: float  # share of the machine's CPU time
    foreign: float  # the same
    idle: float


def usage(before, after):
    busy, steal, idle = (later - earlier for earlier, later in zip(before.times, after.times))
    total = max(busy + steal + idle, 1 / TICKS)
    foreign = max(after.foreign - before.foreign, 0)
    return Usage(max(busy - foreign, 0), max(steal, 0) / total, foreign / total, idle / total)


def seconds_per_gigabyte(busy_seconds, delivered_bytes):
    return busy_seconds / (delivered_bytes / 1e9)
