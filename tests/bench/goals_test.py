#!/usr/bin/env python3
"""Goals: stretch, must, missed, not measured."""
import re
import unittest

import support
import goals


def readme_goals():
    """{(row, figures of must and stretch)} of the table in bench/README.md."""
    text = (support.ROOT / "bench" / "README.md").read_text().partition("## Goals")[2].partition("\n## ")[0]
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) == 4 and re.match(r"[A-Z]\d", cells[0]):
            for must, stretch in zip(cells[2].split(";"), cells[3].split(";")):
                for name in cells[0].split(", "):
                    yield name, float(must), float(stretch)


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

    def test_the_readme_has_the_same_goals(self):
        self.assertEqual(sorted(readme_goals()), sorted((goal.name, goal.must, goal.stretch) for goal in goals.GOALS))

    def test_stretch_is_beyond_must(self):
        for goal in goals.GOALS:
            self.assertEqual(goal.stretch < goal.must, goal.lower_is_better, goal)


if __name__ == "__main__":
    unittest.main()
