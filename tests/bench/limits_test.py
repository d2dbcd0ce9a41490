#!/usr/bin/env python3
"""Limits of sizes: above, at, below, not measured."""
import contextlib
import io
import unittest

import support  # noqa: F401  (the path)
import limits

BEYOND = "limit 40.2 (bench/limits.json); a commit that raises a limit says why"


class LimitsTest(unittest.TestCase):
    def test_a_figure_and_its_limit(self):
        for name, results, text in (
            ("below", {"peak_rss_mib": 40.1}, ""),
            ("at", {"peak_rss_mib": 40.2}, ""),
            ("above", {"peak_rss_mib": 41.04}, f"peak_rss_mib 41.04, {BEYOND}"),
            ("missing", {"calls": 3}, f"peak_rss_mib not measured, {BEYOND}"),
            ("not reached", {"peak_rss_mib": None}, f"peak_rss_mib not measured, {BEYOND}"),
            ("of several", {"peak_rss_mib": 1, "calls": 3, "seconds": 99}, ""),
        ):
            with self.subTest(name):
                self.assertEqual("\n".join(limits.exceeded(results, {"peak_rss_mib": 40.2})), text)

    def test_zero_is_a_limit(self):
        self.assertEqual(limits.exceeded({"calls": 0}, {"calls": 0}), [])
        self.assertEqual(len(limits.exceeded({"calls": 1}, {"calls": 0})), 1)

    def test_the_exit_status(self):
        for value, status, text in ((40, 0, "1 figures within their limits"), (41, 1, f"peak_rss_mib 41, {BEYOND}")):
            with contextlib.redirect_stdout(io.StringIO()) as printed:
                self.assertEqual(limits.verdict({"peak_rss_mib": value}, {"peak_rss_mib": 40.2}), status)
            self.assertEqual(printed.getvalue(), text + "\n")

    def test_the_sizes_that_the_nightly_runs_have_limits(self):
        for bench, size in (("sync", 10_000), ("sync", 65_000), ("hns", 5_000)):
            found = limits.read(bench, size)
            self.assertTrue(found and all(isinstance(limit, (int, float)) for limit in found.values()), (bench, size))
        self.assertIsNone(limits.read("sync", 7))


if __name__ == "__main__":
    unittest.main()
