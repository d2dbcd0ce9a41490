"""The highest rate at which no more than a given share of the packets is lost, by bisection over short trials.

As in MLRsearch, the searches for several shares use each other's trials, and a trial that fails is repeated once: on a shared machine one of
two trials may lose packets for a reason of its own.
"""

from typing import NamedTuple


class Trial(NamedTuple):
    offered: float  # the rate at which the sender really sent
    loss: float  # share of the sent packets that did not arrive


class Found(NamedTuple):
    rate: float  # 0: every trial lost too much
    sender_limited: bool  # the sender could not send faster; the tunnel may carry more
    trials: int


SENDER_KEPT_UP = 0.97  # of the intended rate; a slower sender has reached its own limit


class Search:
    def __init__(self, trial, repeats=1):
        """`trial(rate)` returns a Trial."""
        self._trial = trial
        self._repeats = repeats
        self._done = {}  # intended rate: [Trial]

    def _passes(self, rate, limit):
        done = self._done.setdefault(rate, [])
        for number in range(1 + self._repeats):
            if number == len(done):
                done.append(self._trial(rate))
            if self._good(rate, done[number], limit):
                return True
        return False

    @staticmethod
    def _good(rate, trial, limit):
        return trial.loss <= limit and trial.offered >= SENDER_KEPT_UP * rate

    def _bracket(self, limit, highest):
        """Of the trials so far: the highest rate that passed, and the lowest that failed above it as often as it may."""
        passed = [rate for rate, done in self._done.items() if any(self._good(rate, each, limit) for each in done)]
        low = max(passed, default=0.0)
        return low, min((rate for rate, done in self._done.items() if rate > low and len(done) > self._repeats), default=highest)

    def highest(self, limit, start, highest, precision, steps=10):
        """Found for a loss of at most `limit`, within the relative `precision`.

        `start`: a rate that may pass, such as the one that arrived in an overload. `highest`: one that the sender cannot exceed."""
        trials = self.trials()
        if not self._done:
            self._passes(start, limit)
        low, high = self._bracket(limit, highest)
        while steps > 0 and low < high and (low == 0 or high / low > 1 + precision):
            steps -= 1
            middle = (low + high) / 2 if low else high / 2
            if self._passes(middle, limit):
                low = middle
            else:
                high = middle
        return Found(self._offered(low, limit), self._sender_limited(low, high, limit), self.trials() - trials)

    def _offered(self, rate, limit):
        return max((each.offered for each in self._done.get(rate, ()) if self._good(rate, each, limit)), default=0.0)

    def _sender_limited(self, low, high, limit):
        """The trials just above failed only because the sender was slow."""
        above = self._done.get(high, ())
        return low == high or bool(above) and all(each.loss <= limit for each in above)

    def trials(self):
        return sum(len(done) for done in self._done.values())
