#!/usr/bin/env python3
"""Goals: stretch, must, missed, not measured."""
import unittest

import support
import goals


class GoalsTest(unittest.TestCase):
    def met(self, name, **rows):
        return [verdict.met for verdict in goals.judge(rows) if verdict.goal.name == name][0]

    def test_higher_is_better(self):
        for ratio, met in ((1.0, "stretch"), (0.7, "must"), (0.65, "must"), (0.64, "missed"), (None, "not measured")):
            self.assertEqual(self.met("D1", D1=support.row(ratio=ratio)), met)

    def test_lower_is_better(self):
        for ratio, met in ((1.5, "stretch"), (2.3, "must"), (2.31, "missed")):
            self.assertEqual(self.met("D8", D8=support.row(ratio=ratio)), met)

    def test_a_row_that_was_not_measured(self):
        self.assertEqual({verdict.met for verdict in goals.judge({})}, {"not measured"})

    def test_stretch_is_beyond_must(self):
        for goal in goals.GOALS:
            self.assertEqual(goal.stretch < goal.must, goal.lower_is_better, goal)


if __name__ == "__main__":
    unittest.main()
