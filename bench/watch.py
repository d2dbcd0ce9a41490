"""Whether a sample was disturbed: by a busy machine before it, or by the host or foreign processes during and after it."""

import time
from typing import NamedTuple

from lab import command
import cpu

LIMIT = 0.03  # of steal and of foreign processes, shares of the machine's CPU time
AFTER_LIMIT = 0.1  # the same shortly after, when one clock tick is some percent
AFTER_SECONDS = 0.2


class Sample(NamedTuple):
    """A measurement's result, with what happened on the machine meanwhile."""

    result: dict
    usage: cpu.Usage
    disturbances: list  # in words; empty: the sample is quiet

    @property
    def noisy(self):
        return bool(self.disturbances)

    def figure(self, name):
        if name == "cpu_s_per_gb":
            delivered = self.result.get("bytes")
            return cpu.seconds_per_gigabyte(self.usage.busy_seconds, delivered) if delivered else None
        return self.result.get(name)


def disturbances(idle_before, during, after):
    found = [] if idle_before else ["the machine was not idle before"]
    for when, usage, limit in (("during", during, LIMIT), ("after", after, AFTER_LIMIT)):
        if usage.steal > limit:
            found.append(f"{when}: the host took {usage.steal:.0%} of the CPU time")
        if usage.foreign > limit:
            found.append(f"{when}: foreign processes used {usage.foreign:.0%} of the CPU time")
    return found


class Watch:
    """Measures when the gate lets it, and looks at the machine during the measurement and shortly after it."""

    def __init__(self, gate, after_seconds=AFTER_SECONDS, repeat_failed=True):
        self._gate = gate
        self._after_seconds = after_seconds
        self._repeat_failed = repeat_failed
        self._began = cpu.snapshot()
        self.samples = 0
        self.noisy = 0

    def measure(self, work):
        """With `repeat_failed` a measurement that fails is made once more, and its sample is noisy: one contender does not end a long run."""
        try:
            return self._sample(work, [])
        except command.Failure as failure:
            if not self._repeat_failed:
                raise
            return self._sample(work, [f"it failed before: {failure}"])

    def _sample(self, work, stumbles):
        idle = self._gate.wait()
        before = cpu.snapshot()
        result = work()
        end = cpu.snapshot()
        time.sleep(self._after_seconds)
        later = cpu.snapshot() if self._after_seconds else end
        during = cpu.usage(before, end)
        sample = Sample(result, during, stumbles + disturbances(idle, during, cpu.usage(end, later)))
        self.samples += 1
        self.noisy += sample.noisy
        return sample

    def whole_run(self):
        """Usage since the start of the run."""
        return cpu.usage(self._began, cpu.snapshot())
