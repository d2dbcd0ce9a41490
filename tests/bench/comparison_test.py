#!/usr/bin/env python3
"""bench/compare: verdicts, what cannot be compared, exit status."""
import json
import pathlib
import subprocess
import tempfile
import unittest

import support
import comparison

MACHINE = {"cpu": "A", "cores": 2, "kernel": "6.1"}


def run(machine=None, **rows):
    return {**rows, "machine": machine or MACHINE, "noisy": False}


class VerdictTest(unittest.TestCase):
    def verdict(self, old, new):
        return comparison.verdict(support.row(**old), support.row(**new))[2]

    def test_beyond_both_spreads(self):
        self.assertEqual(self.verdict({"ratio": 0.5}, {"ratio": 0.52}), "faster")
        self.assertEqual(self.verdict({"ratio": 0.5}, {"ratio": 0.48}), "slower")

    def test_within_spread(self):
        self.assertEqual(self.verdict({"ratio": 0.5}, {"ratio": 0.505}), "within spread")
        self.assertEqual(self.verdict({"ratio": 0.5}, {"ratio": 0.55, "ratio_spread": 0.1}), "within spread")

    def test_less_is_faster_where_lower_is_better(self):
        self.assertEqual(self.verdict({"ratio": 3.0}, {"ratio": 2.5, "better": "lower", "unit": "us"}), "faster")

    def test_a_slower_machine_does_not_make_a_row_slower(self):
        self.assertEqual(self.verdict({}, {"value": 5.0, "reference": 10.0, "ratio": 0.5}), "within spread")

    def test_rows_without_reference_compare_values(self):
        code = {"reference": None, "ratio": None, "unit": "ns/packet", "better": "lower", "reference_kind": None}
        self.assertEqual(self.verdict({**code, "value": 10.0}, {**code, "value": 9.0}), "faster")

    def test_a_reference_in_common_counts(self):
        new = {"ratio": 0.5, "reference_kind": "kernel-tuned", "ratio_to_kernel": 0.6, "ratio_spread_to_kernel": 0.01}
        self.assertEqual(comparison.verdict(support.row(), support.row(**new)), ("x kernel", 1.2, "faster"))

    def test_without_one_the_values_count(self):
        self.assertEqual(self.verdict({"ratio": 0.5}, {"ratio": 0.6, "reference_kind": "ovs"}), "within spread")

    def test_a_run_of_before_has_no_spread(self):
        self.assertEqual(self.verdict({"ratio_spread": None}, {"ratio": 0.9}), "no spread recorded")


class CommandTest(unittest.TestCase):
    def compare(self, old, new):
        with tempfile.TemporaryDirectory() as folder:
            paths = [pathlib.Path(folder, name) for name in ("old.json", "new.json")]
            for path, content in zip(paths, (old, new)):
                if content is not None:
                    path.write_text(content if isinstance(content, str) else json.dumps(content))
            return subprocess.run([support.ROOT / "bench" / "compare", *paths], capture_output=True, text=True)

    def test_a_slower_row_is_no_error(self):
        done = self.compare(run(D1=support.row()), run(D1=support.row(ratio=0.3)))
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("| slower |", done.stdout)

    def test_rows_of_one_run_only_are_listed(self):
        done = self.compare(run(D1=support.row(), D2=support.row()), run(D1=support.row(), D3=support.row()))
        self.assertIn("only in the old run", done.stdout)
        self.assertIn("only in the new run", done.stdout)

    def test_different_machines_are_a_sentence(self):
        done = self.compare(run(D1=support.row()), run({**MACHINE, "cpu": "B"}, D1=support.row()))
        self.assertEqual(done.returncode, 0)
        self.assertIn("The runs are of different machines (cpu A and B)", done.stdout)
        self.assertIn("| D1 |", done.stdout)

    def test_another_unit_is_not_comparable(self):
        done = self.compare(run(D1=support.row()), run(D1=support.row(unit="Mpps")))
        self.assertEqual(done.returncode, 1)
        self.assertIn("not comparable", done.stdout)
        self.assertIn("no row in common", done.stderr)

    def test_an_unreadable_file_is_one_sentence(self):
        for content, why in ((None, "No such file"), ("{", "not JSON"), ("{}", "has no rows"), ("[]", "has no rows")):
            done = self.compare(run(D1=support.row()), content)
            self.assertEqual(done.returncode, 1)
            self.assertIn(why, done.stderr)
            self.assertEqual(done.stderr.count("\n"), 1)


if __name__ == "__main__":
    unittest.main()
