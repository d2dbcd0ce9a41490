"""Turns of the end-to-end experiments, and their samples."""

import sys

import contenders
import summary


def log(text):
    print(text, file=sys.stderr, flush=True)


def defer_gro(lab_nodes, on):
    """Tunes the host to gather small datagrams for up to 50 us on the pods' links, for the kernel and for weft."""
    state = "on" if on else "off"
    for each in lab_nodes:
        for where, device in ((each.pod, "e0"), (each.host, "pod")):
            where.run("ethtool", "-K", device, "gro", state, "rx-udp-gro-forwarding", state)
            where.run("sh", "-c", f"echo {50000 if on else 0} > /sys/class/net/{device}/gro_flush_timeout; "
                                  f"echo {int(on)} > /sys/class/net/{device}/napi_defer_hard_irqs")


class Rates:
    """Each contender's own D1: the median of its samples so far, or a measurement of one second."""

    def __init__(self, measure):
        self._measure = measure
        self._known = {}
        self.name = None  # of the contender that is measured

    def add(self, name, figure):
        self._known.setdefault(name, []).append(figure)

    def __call__(self, a, b):
        if self.name not in self._known:
            self.add(self.name, self._measure(a, b)["value"])
        return summary.median(self._known[self.name])


def run(experiments, turns, watch, rates):
    """{experiment: {contender: [Sample of each turn]}}. Every second turn has the reverse order (ABBA)."""
    samples = {name: {each: [] for each in experiment.order} for name, experiment in experiments.items()}
    names = list(dict.fromkeys(each for experiment in experiments.values() for each in experiment.order))
    with contenders.Labs(names) as labs:
        for turn in range(turns):
            for name, experiment in experiments.items():
                for each in experiment.order if turn % 2 == 0 else experiment.order[::-1]:
                    sample = measure(labs, each, experiment, watch, rates)
                    samples[name][each].append(sample)
                    if name == "tcp":
                        rates.add(each, sample.result["value"])
                    log(f"  {turn + 1}/{turns} {name:18} {each:14} {sample.result['value']:10.4g} {experiment.unit}"
                        + (f"  ({'; '.join(sample.disturbances)})" if sample.noisy else ""))
    return samples


def measure(labs, name, experiment, watch, rates):
    rates.name = name
    with labs.run(name) as (a, b):
        if experiment.deferred_gro:
            defer_gro((a, b), True)
        try:
            return watch.measure(lambda: experiment.measure(a, b))
        finally:
            if experiment.deferred_gro:
                defer_gro((a, b), False)
