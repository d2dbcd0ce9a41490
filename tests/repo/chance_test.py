#!/usr/bin/env python3
"""The rule on chance: what a suite that fails once, in each way, comes to. The suite is a script that counts its runs."""

import datetime
import os
import pathlib
import shlex
import subprocess
import tempfile
import unittest

import chance

NAME = "netns:restart.routes"
LATE = "late: waited 5 s, came after 7.2 s: the route"
PEER = "peer: etcd: no answer"
LINES = {NAME: ("the machine was busy", True)}


def suite(folder, *runs):
    """A command that prints the next of `runs` each time: the reason, or "" where the test passes."""
    path = folder / "suite.sh"
    reasons = " ".join(shlex.quote(reason) for reason in runs)
    path.write_text(f"""reasons=({reasons})
run=$(cat {folder}/runs 2>/dev/null || echo 0)
echo $((run + 1)) >{folder}/runs
reason=${{reasons[run]}}
case $reason in
  crash) kill -9 $$ ;;
  "") echo "ok $2 (1.0 s)"; exit 0 ;;
  *) echo "not ok $2: $reason"; exit 1 ;;
esac
""")
    return f"bash {path}"


class NoLoad:
    on = False

    def __enter__(self):
        NoLoad.on = True

    def __exit__(self, *_):
        NoLoad.on = False


class Settle(unittest.TestCase):
    def settle(self, first, *repetitions, touched=(), lines=None, others=()):
        """The verdict of a test that failed for `first`, and its text; then how often it was repeated."""
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            commands = {"netns-release": ("netns", suite(folder, *repetitions))}
            rows = [["passed", "netns:restart.other", "netns-release", "1", ""], [chance.kind(first), NAME, "netns-release", "9", first], *others]
            settled, self.said = chance.settle(rows, commands, set(touched), LINES if lines is None else lines, load=NoLoad)
            self.assertEqual(settled[0], rows[0])
            runs = folder / "runs"
            return settled[1][0], settled[1][4], int(runs.read_text()) if runs.exists() else 0

    def test_what_fails_once(self):
        for description, first, repetitions, verdict, runs in (
                ("late once", LATE, ("", ""), "flaky", 2),
                ("a peer late once", PEER, ("", ""), "flaky", 2),
                ("late again, first", LATE, (LATE, ""), "failed", 1),
                ("late again, second", LATE, ("", LATE), "failed", 2),
                ("late, then a wrong byte", LATE, ("", "byte 7: got 1, expected 2"), "failed", 2),
                ("late, then a crash", LATE, ("crash", ""), "failed", 1),
                ("never came", "waited 50 s in vain: the route", ("", ""), "failed", 0),
                ("a wrong byte once", "byte 7: got 1, expected 2", ("", ""), "failed", 0),
                ("a crash once", "its process ended with -11", ("", ""), "failed", 0),
                ("a sanitizer report once", "late: waited".replace("late", "a defect of its own, late"), ("", ""), "failed", 0)):
            with self.subTest(description):
                got, _, ran = self.settle(first, *repetitions)
                self.assertEqual((got, ran), (verdict, runs))

    def test_a_flaky_test_is_named_with_its_text_and_cause(self):
        self.settle(LATE, "", "")
        self.assertEqual(self.said, [f"flaky: {NAME} (netns-release): {LATE}\n       known cause: the machine was busy"])

    def test_a_flaky_test_needs_a_line_that_holds(self):
        verdict, text, runs = self.settle(LATE, "", "", lines={})
        self.assertEqual((verdict, runs), ("failed", 2))
        self.assertIn("has no line of it", text)
        verdict, text, _ = self.settle(LATE, "", "", lines={NAME: ("busy", False)})
        self.assertEqual(verdict, "failed")
        self.assertIn("older than 14 days", text)

    def test_nothing_of_a_touched_file_is_repeated(self):
        verdict, text, runs = self.settle(LATE, "", "", touched={"tests/netns/restart_test.py"})
        self.assertEqual((verdict, runs), ("failed", 0))
        self.assertIn("touched tests/netns/restart_test.py", text)

    def test_two_in_a_run(self):
        other = ["late", NAME, "netns-release", "9", LATE]
        self.assertEqual(self.settle(LATE, "", "", "", "", others=[other])[::2], ("flaky", 4))
        verdict, text, runs = self.settle(LATE, "", "", others=[other, other])
        self.assertEqual((verdict, runs), ("failed", 0))
        self.assertIn("3 tests of this run would be, and 2 may", text)

    def test_a_file_that_is_not_known(self):
        settled, _ = chance.settle([["late", "soak:load", "soak-load", "9", LATE]], {}, set(), {})
        self.assertEqual(settled[0][0], "failed")

    def test_cores_are_busy_while_it_is_repeated(self):
        seen = []

        def run(*_):
            seen.append(NoLoad.on)
            return "passed", ""

        chance.settle([["late", NAME, "netns-release", "9", LATE]], {"netns-release": ("netns", "")}, set(), LINES, run, load=NoLoad)
        self.assertEqual(seen, [True, True])
        with chance.Load() as load:
            self.assertEqual(len(load.loops), os.cpu_count())
            self.assertTrue(all(loop.poll() is None for loop in load.loops))
        self.assertTrue(all(loop.poll() is not None for loop in load.loops))


class Files(unittest.TestCase):
    def test_lines_hold_for_fourteen_days(self):
        with tempfile.NamedTemporaryFile("w", suffix=".tsv") as file:
            file.write("# names\nnetns:a.b\tbusy\t2026-11-13\nnetns:a.c\tbusy\t2026-11-12\n")
            file.flush()
            lines = chance.known(pathlib.Path(file.name), datetime.date(2026, 11, 27))
        self.assertEqual(lines, {"netns:a.b": ("busy", True), "netns:a.c": ("busy", False)})

    def test_the_tree_s_own_lines_can_be_read(self):
        chance.known(chance.ROOT / "tests" / "flaky.tsv", datetime.date.today())

    def test_the_file_of_a_test(self):
        for name, file in (("netns:restart.routes", "tests/netns/restart_test.py"), ("netns-of-the-kernel:lab.x", "tests/netns/lab_test.py"),
                           ("e2e:windows.kube_proxy", "tests/e2e/windows_test.py"), ("soak:load", None), ("stage:build-asan", None),
                           ("ctest:vxlan_test:VniTest.Nothing", None), ("ctest:repo:format", None),
                           ("ctest:vxlan_test:Built/ChecksumKernels.AgreeWithTheReference/avx2", "tests/vxlan/checksum_test.cc")):
            with self.subTest(name):
                self.assertEqual(chance.test_file(name), file)

    def test_what_the_last_commits_and_no_commit_yet_touched(self):
        with tempfile.TemporaryDirectory() as folder:
            def git(*words):
                subprocess.run(["git", "-C", folder, "-c", "user.name=t", "-c", "user.email=t@t", *words], check=True, capture_output=True)

            git("init", "-q")
            for number in range(chance.TOUCHED + 2):
                pathlib.Path(folder, f"file{number}").write_text("")
                git("add", "-A")
                git("commit", "-qm", str(number))
            pathlib.Path(folder, "file0").write_text("changed")
            touched = chance.touched_files(folder)
        self.assertEqual(touched, {"file0", *(f"file{number}" for number in range(2, chance.TOUCHED + 2))})


class Commands(unittest.TestCase):
    def test_one_test_of_each_suite(self):
        for suite_name, test, command, words, more in (
                ("netns", "a.b", "env WEFT_BUILD=x tests/netns/run.sh --tier=gate", ["env", "WEFT_BUILD=x", "tests/netns/run.sh", "--tier=gate",
                                                                                    "--exactly", "a.b"], {}),
                ("soak", "load", "tests/soak/load.sh --short", ["tests/soak/load.sh", "--short"], {}),
                ("ctest", "p:S.C", "ctest --preset asan", ["ctest", "--preset", "asan", "-R", r"^(p#[0-9]+|p:S\.C)$"], {"GTEST_FILTER": "S.C"}),
                ("ctest", "p", "ctest --preset asan", ["ctest", "--preset", "asan", "-R", "^(p#[0-9]+|p)$"], {})):
            with self.subTest(suite_name):
                self.assertEqual(chance.words_for(suite_name, test, command), (words, more))

    def test_a_suite_that_does_not_run_the_test_has_failed(self):
        for description, command in (("another test", "echo ok a.c"), ("nothing", "true"), ("it, and ended badly", "sh -c 'echo ok a.b; exit 1'"),
                                     ("it, and then failed", "sh -c 'echo ok a.b; echo not ok a.b: late: x'")):
            with self.subTest(description):
                self.assertNotEqual(chance.run_once("netns", "a.b", command)[0], "passed")
        self.assertEqual(chance.run_once("netns", "a.b", "sh -c 'echo ok a.b'"), ("passed", ""))


if __name__ == "__main__":
    unittest.main()
