#!/usr/bin/env python3
"""The no-drop search, against contenders with a known limit."""
import unittest

import support  # noqa: F401
import search

PRECISION = 0.05


class Fake:
    """Loses nothing up to `capacity` packets a second, and everything beyond that; `sender`: the rate that its sender can reach."""

    def __init__(self, capacity, sender=10e6, base_loss=0.0, bad=()):
        self.capacity, self.sender, self.base_loss, self.bad = capacity, sender, base_loss, set(bad)
        self.rates = []

    def __call__(self, rate):
        self.rates.append(rate)
        offered = min(rate, self.sender)
        loss = max(1 - self.capacity / offered, self.base_loss, 0)
        return search.Trial(offered, 0.3 if len(self.rates) in self.bad else loss)


def find(contender, limit=0.0, start=None, steps=20):
    return search.Search(contender).highest(limit, start or contender.capacity * 0.7, contender.sender, PRECISION, steps)


class SearchTest(unittest.TestCase):
    def test_finds_the_limit_within_the_precision(self):
        for capacity in (120e3, 400e3, 2.5e6):
            found = find(Fake(capacity))
            self.assertLessEqual(found.rate, capacity)
            self.assertGreaterEqual(found.rate, capacity / (1 + 2 * PRECISION))
            self.assertFalse(found.sender_limited)

    def test_a_start_above_the_limit_is_corrected(self):
        found = find(Fake(100e3), start=900e3)
        self.assertAlmostEqual(found.rate, 100e3, delta=2 * PRECISION * 100e3)

    def test_half_a_percent_of_loss_allows_a_higher_rate(self):
        contender = Fake(300e3)
        searching = search.Search(contender)
        some = searching.highest(0.005, 250e3, contender.sender, 0.001, 30)
        none = searching.highest(0, 250e3, contender.sender, 0.001, 30)
        self.assertGreater(some.rate, none.rate)
        self.assertAlmostEqual(some.rate, 300e3 / 0.995, delta=700)

    def test_the_second_search_uses_the_trials_of_the_first(self):
        contender = Fake(300e3)
        searching = search.Search(contender)
        first = searching.highest(0.005, 250e3, contender.sender, PRECISION)
        second = searching.highest(0, 250e3, contender.sender, PRECISION)
        self.assertLess(second.trials, first.trials)

    def test_one_bad_trial_does_not_lower_the_result(self):
        found = find(Fake(400e3, bad=[1]))
        self.assertAlmostEqual(found.rate, 400e3, delta=2 * PRECISION * 400e3)

    def test_a_contender_that_always_loses_has_no_such_rate(self):
        found = find(Fake(400e3, base_loss=0.01), steps=6)
        self.assertEqual(found.rate, 0)
        self.assertGreater(find(Fake(400e3, base_loss=0.004), limit=0.005).rate, 300e3)

    def test_a_slow_sender_is_named_as_the_limit(self):
        contender = Fake(5e6, sender=200e3)
        found = search.Search(contender).highest(0, 150e3, 250e3, PRECISION, 20)
        self.assertTrue(found.sender_limited)
        self.assertAlmostEqual(found.rate, 200e3, delta=2 * PRECISION * 200e3)

    def test_few_trials(self):
        contender = Fake(350e3, sender=1e6)
        find(contender, start=300e3)
        self.assertLess(len(contender.rates), 20)


if __name__ == "__main__":
    unittest.main()
