#!/usr/bin/env python3
"""The HTML report is well-formed, stands alone, and shows every sample; the Markdown tables have equal columns."""
import re
import unittest
import xml.etree.ElementTree

import support
import report
import results
import rows
import table

SVG = "{http://www.w3.org/2000/svg}"


def some_rows():
    def samples(factor, **result):
        return [support.sample(factor * value, noisy=value == 2, bytes=1e9, **result) for value in (1, 2, 3)]
    latencies = {"latencies_us": [float(each) for each in range(1, 3000)]}
    loss = {"sent": 100, "lost": 7, "loss": 0.07}
    tcp = {"kernel": samples(2, retransmits=3), "kernel-tuned": samples(3, retransmits=3), "weft": samples(1, retransmits=0)}
    return {
        "C1": {"what": "encapsulate <64> bytes & more", "value": 5.0, "unit": "ns/packet", "reference": None, "ratio": None, "better": "lower",
               "cycles": 20.0, "cycles_partial_checksum": 16.0, "spread": 0.01, "samples": {"weft": [{"value": 5.0}, {"value": 5.1}]}},
        "D1": results.row_json(rows.ROWS["D1"], "Gb/s", tcp),
        "E1": results.row_json(rows.ROWS["E1"], "Gb/s", tcp),
        "D3": results.row_json(rows.ROWS["D3"], "Mpps", {"kernel": samples(1, **loss), "weft": samples(2, **loss)}),
        "D8": results.row_json(rows.ROWS["D8"], "us", {"kernel": samples(1, **latencies, **loss), "weft": samples(2, **latencies, **loss)}),
        "N1": results.row_json(rows.ROWS["N1"], "Mpps", {kind: samples(1, half_percent=2.0, sender_limited=True, **loss)
                                                         for kind in ("kernel", "weft")}),
    }


class ReportTest(unittest.TestCase):
    def setUp(self):
        self.rows = some_rows()
        self.text = report.document(self.rows, {"cpu": "A & B <C>", "mitigations": {"mds": "Not affected"}}, ["One & two."])
        self.tree = xml.etree.ElementTree.fromstring(self.text.removeprefix("<!DOCTYPE html>\n"))

    def test_nothing_is_loaded_from_elsewhere(self):
        self.assertFalse(re.search(r'(src|href)=|url\(|@import|<script', self.text))

    def test_every_sample_has_a_dot_and_noisy_ones_are_hollow(self):
        dots = list(self.tree.iter(SVG + "circle"))
        self.assertEqual(len(dots), sum(len(samples) for row in self.rows.values() for samples in row["samples"].values()))
        noisy = sum(each.get("noisy", False) for row in self.rows.values() for samples in row["samples"].values() for each in samples)
        self.assertGreater(noisy, 0)
        self.assertEqual(sum(each.get("fill") == "#fff" for each in dots), noisy)

    def test_latency_has_a_curve_for_each_contender(self):
        self.assertEqual(len(list(self.tree.iter(SVG + "polyline"))), 2)

    def test_dots_are_inside_the_plot(self):
        for each in self.tree.iter(SVG + "circle"):
            self.assertTrue(0 <= float(each.get("cx")) <= report.plots.WIDTH)

    def test_goals_and_facts_are_shown(self):
        for text in ("not measured", "missed", "A &amp; B &lt;C&gt;", "mds: Not affected", "One &amp; two."):
            self.assertIn(text, self.text)

    def test_a_run_of_one_row_without_figures_is_shown(self):
        row = results.row_json(rows.ROWS["N1"], "Mpps", {kind: [support.sample(0.0)] for kind in ("kernel", "weft")})
        xml.etree.ElementTree.fromstring(report.document({"N1": row}, {}, []).removeprefix("<!DOCTYPE html>\n"))


class TableTest(unittest.TestCase):
    def test_columns(self):
        found = some_rows()
        for text in (table.results(found), table.latencies(found), table.loss(found), table.goal_table(found)):
            self.assertEqual(len({line.count("|") for line in text.splitlines()}), 1, text)

    def test_the_reference_is_named(self):
        self.assertIn("kernel-tuned 6, kernel 4", table.results(some_rows()))


if __name__ == "__main__":
    unittest.main()
