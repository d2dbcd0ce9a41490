"""The goals of the data plane, and whether a run meets them."""

from typing import NamedTuple


class Goal(NamedTuple):
    name: str
    metric: str
    must: float
    stretch: float
    measured: object  # a function of the rows; None or KeyError: not measured
    lower_is_better: bool = False


class Verdict(NamedTuple):
    goal: Goal
    measured: float  # None: not measured
    met: str


def _ratio(key, name="ratio"):
    return lambda rows: rows[key][name]


def _figure(key, name):
    return lambda rows: rows[key][name]


GOALS = (
    Goal("C1", "encapsulate 64 bytes, partial checksum, cycles", 17, 10, _figure("C1", "cycles_partial_checksum"), True),
    Goal("C3", "decapsulate 64 bytes, cycles", 17, 9, _figure("C3", "cycles"), True),
    Goal("L1", "look-up, throughput, ns", 1.0, 0.5, _figure("L1", "value"), True),
    Goal("L1", "look-up, dependent, ns", 6, 5, _figure("L1", "value_dependent"), True),
    Goal("D1", "TCP, 1 stream, x kernel", 0.65, 1.0, _ratio("D1")),
    Goal("D1k", "TCP, 1 stream, to a kernel peer, x kernel", 0.55, 0.9, _ratio("D1k")),
    Goal("D1f", "TCP, 1 stream, from a kernel peer, x kernel", 0.55, 0.9, _ratio("D1f")),
    Goal("D1g", "TCP, 1 stream, superframes sent whole, x kernel", 0.65, 1.0, _ratio("D1g")),
    Goal("D2", "TCP, 4 streams, x kernel", 0.50, 0.70, _ratio("D2")),
    Goal("D2g", "TCP, 4 streams, superframes sent whole, x kernel", 0.50, 0.70, _ratio("D2g")),
    Goal("D3", "small UDP, x kernel", 2.6, 3.0, _ratio("D3")),
    Goal("D4", "small UDP, deferred GRO for both, x kernel", 1.05, 1.15, _ratio("D4")),
    Goal("D5", "application GSO, 18 bytes, x kernel", 1.0, 1.25, _ratio("D5")),
    Goal("D6", "application GSO, 1400 bytes, x kernel", 0.6, 0.8, _ratio("D6")),
    Goal("D7", "TCP, x flannel's udp backend", 17, 25, _ratio("D7")),
    Goal("D7o", "TCP, x Open vSwitch in user space", 8, 12, _ratio("D7o")),
    Goal("D8", "idle round trip, x kernel", 2.3, 1.5, _ratio("D8"), True),
    Goal("D8b", "idle round trip with --busy-poll, x kernel", 1.3, 1.1, _ratio("D8b"), True),
    Goal("E1", "CPU time for a gigabyte, TCP, 1 stream, x kernel", 1.5, 1.2, _ratio("E1"), True),
)


def judge(rows):
    return [_judge(goal, rows) for goal in GOALS]


def _judge(goal, rows):
    try:
        measured = goal.measured(rows)
    except KeyError:
        measured = None
    if measured is None:
        return Verdict(goal, None, "not measured")
    reaches = (lambda limit: measured <= limit) if goal.lower_is_better else (lambda limit: measured >= limit)
    return Verdict(goal, measured, "stretch" if reaches(goal.stretch) else "must" if reaches(goal.must) else "missed")
