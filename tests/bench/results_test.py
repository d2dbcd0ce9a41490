#!/usr/bin/env python3
"""Rows as JSON, from samples."""
import unittest

import support
import code_rows
import results
import rows


def row(**changes):
    return rows.Row("TCP, 1 stream", "tcp", **changes)


class ResultsTest(unittest.TestCase):
    def test_keys_of_a_row(self):
        samples = {"kernel": [support.sample(10.0), support.sample(20.0, noisy=True)], "weft": [support.sample(6.0), support.sample(10.0)]}
        found = results.row_json(row(), "Gb/s", samples)
        self.assertEqual({key: found[key] for key in ("what", "value", "unit", "reference", "ratio", "runs", "reference_kind", "better",
                                                      "noisy_samples", "sample_count", "paired_ratios")},
                         {"what": "TCP, 1 stream", "value": 8.0, "unit": "Gb/s", "reference": 15.0, "ratio": 0.55, "runs": 2,
                          "reference_kind": "kernel", "better": "higher", "noisy_samples": 1, "sample_count": 4, "paired_ratios": [0.6, 0.5]})
        self.assertEqual([each["value"] for each in found["samples"]["kernel"]], [10.0, 20.0])
        self.assertEqual([each["noisy"] for each in found["samples"]["kernel"]], [False, True])

    def test_the_better_kernel_is_the_reference(self):
        samples = {"kernel": [support.sample(10.0)], "kernel-tuned": [support.sample(12.0)], "weft": [support.sample(6.0)]}
        found = results.row_json(row(references=rows.KERNELS, best=True), "Gb/s", samples)
        self.assertEqual((found["reference_kind"], found["reference"], found["ratio"]), ("kernel-tuned", 12.0, 0.5))
        self.assertEqual((found["kernel"], found["ratio_to_kernel"]), (10.0, 0.6))
        lower = results.row_json(row(references=rows.KERNELS, best=True, lower_is_better=True), "us", samples)
        self.assertEqual(lower["reference_kind"], "kernel")

    def test_cpu_seconds_for_a_gigabyte(self):
        samples = {"kernel": [support.sample(10.0, busy_seconds=3, bytes=6e9)], "weft": [support.sample(5.0, busy_seconds=3, bytes=3e9)]}
        found = results.row_json(row(), "Gb/s", samples)
        self.assertEqual(found["cpu_s_per_gb"], {"weft": 1.0, "kernel": 0.5})
        self.assertEqual(found["cpu_s_per_gb_ratio"], 2.0)
        own = results.row_json(row(figure="cpu_s_per_gb", unit="s/GB", lower_is_better=True), "Gb/s", samples)
        self.assertEqual((own["value"], own["unit"], own["ratio"]), (1.0, "s/GB", 2.0))
        self.assertNotIn("cpu_s_per_gb", own)

    def test_percentiles_are_of_all_turns(self):
        samples = {kind: [support.sample(1.0, latencies_us=[float(start + each) for each in range(100)]) for start in (1, 101)]
                   for kind in ("kernel", "weft")}
        found = results.row_json(row(lower_is_better=True), "us", samples)
        self.assertEqual(found["percentiles"]["weft"], {"p50": 100, "p90": 180, "p99": 198, "p99.9": 200, "max": 200})
        self.assertEqual(found["percentile_ratios"]["p99"], 1)
        self.assertEqual(found["latency_curve"]["weft"][-1][1], 200)

    def test_a_reference_that_lost_everything_has_no_ratio(self):
        samples = {"kernel": [support.sample(0.0)], "weft": [support.sample(1.0)]}
        self.assertIsNone(results.row_json(row(), "Mpps", samples)["ratio"])


class RowsTest(unittest.TestCase):
    def test_every_row_has_its_experiment_and_its_contenders_an_order(self):
        length = rows.Length(1, 0, 1, 1, 1, 1)
        needed = rows.needed(rows.ROWS, rows.experiments(length, 1, lambda a, b: 1))
        for key, each in rows.ROWS.items():
            self.assertLessEqual(set(each.contenders()), set(needed[each.experiment].order), key)

    def test_the_readme_explains_every_row(self):
        text = (support.ROOT / "bench" / "README.md").read_text()
        for key in (*rows.ROWS, *code_rows.ROWS):
            self.assertRegex(text, rf"(?m)^\| ([^|]*, )?{key}(,[^|]*)? \|", key)

    def test_the_kernel_is_measured_next_to_weft(self):
        self.assertEqual(abs(rows.ORDER.index("kernel") - rows.ORDER.index("weft")), 1)
        self.assertEqual(abs(rows.ORDER.index("kernel-wire") - rows.ORDER.index("weft-wire")), 1)


if __name__ == "__main__":
    unittest.main()
