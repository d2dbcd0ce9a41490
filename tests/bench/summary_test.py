#!/usr/bin/env python3
"""Median, spread, paired ratios and percentiles of samples."""
import unittest

import support  # noqa: F401
import summary


class SummaryTest(unittest.TestCase):
    def test_spread_is_half_the_interquartile_range_over_the_median(self):
        self.assertAlmostEqual(summary.spread([8, 9, 10, 11, 12]), 0.1)  # quartiles 9 and 11

    def test_one_outlier_does_not_change_the_spread(self):
        self.assertEqual(summary.spread([8, 9, 10, 11, 1000]), summary.spread([8, 9, 10, 11, 12]))

    def test_equal_figures_have_no_spread(self):
        self.assertEqual(summary.spread([3, 3, 3]), 0)

    def test_spread_of_one_figure_or_around_zero_is_unknown(self):
        self.assertIsNone(summary.spread([3]))
        self.assertIsNone(summary.spread([0, 0, 1]))

    def test_ratios_are_of_the_same_turn(self):
        # The machine was half as fast in the second turn. The ratio of the medians would be the same; that of other pairs would not.
        self.assertEqual(summary.paired_ratios([6, 3], [10, 5]), [0.6, 0.6])

    def test_the_median_of_paired_ratios_is_not_the_ratio_of_medians(self):
        weft, kernel = [1, 10, 10], [2, 10, 40]
        self.assertEqual(summary.median(summary.paired_ratios(weft, kernel)), 0.5)
        self.assertEqual(summary.median(weft) / summary.median(kernel), 1)

    def test_a_turn_without_reference_has_no_ratio(self):
        self.assertEqual(summary.paired_ratios([1, 2, None], [0, 4, 5]), [0.5])

    def test_percentiles_are_figures_that_occurred(self):
        found = summary.percentiles([float(each) for each in range(1000, 0, -1)])
        self.assertEqual(found, {"p50": 500, "p90": 900, "p99": 990, "p99.9": 999, "max": 1000})

    def test_percentiles_of_one_figure(self):
        self.assertEqual(set(summary.percentiles([7]).values()), {7})

    def test_curve_rises_to_the_largest(self):
        points = summary.curve([float(each) for each in range(1, 2001)])
        self.assertEqual(points[0], (0.0, 1))
        self.assertEqual(points[-1][1], 2000)
        self.assertEqual(points, sorted(points))
        self.assertTrue(all(0 <= share < 1 for share, _ in points))


if __name__ == "__main__":
    unittest.main()
