#!/usr/bin/env python3
"""tests/wine/run.sh and start_up.py with a Wine of shell scripts: which starts are repeated, and that they are counted."""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import start_up  # noqa: E402

os.environ.pop("WEFT_WINE_RERUNS", None)  # what stands in for Wine here is not for the sum of a run

RUN = pathlib.Path(__file__).parent / "run.sh"

INTERNAL_ERROR = "fork/exec host-local.exe: Internal error."
NOT_STARTED = "Application could not be started, or no application associated with the specified file."

# Each run of a program consumes one line of `script`, "STATUS WORDS...", and writes the program's name to `ran`; the first, cmd, one of `services`.
WINE64 = """#!/bin/sh
cd "${0%/*}"
script=script
if [ "$1" = cmd ]; then script=services; else echo "${1##*/}" >>ran; fi
read -r status words <$script
sed -i 1d $script
[ -z "$words" ] || echo "$words"
exit "$status"
"""


class RunTest(unittest.TestCase):
    def run_program(self, program, *script, services=("0",), words=()):
        """(exit status, standard output, programs that ran, lines of WEFT_WINE_RERUNS)"""
        with tempfile.TemporaryDirectory() as folder:
            wine = pathlib.Path(folder)
            (wine / "drive_c").mkdir()
            for name, text in (("wine64", WINE64), ("wineserver", "#!/bin/sh\n")):
                (wine / name).write_text(text)
                (wine / name).chmod(0o755)
            (wine / "ran").touch()
            for name, lines in (("script", script), ("services", services)):
                (wine / name).write_text("".join(f"{line}\n" for line in lines))
            environment = os.environ | {"WEFT_WINE": folder, "WINEPREFIX": folder, "WEFT_WINE_RERUNS": f"{folder}/reruns"}
            done = subprocess.run([RUN, program, *words], env=environment, capture_output=True, text=True, check=False)
            reruns = (wine / "reruns").read_text().splitlines() if (wine / "reruns").exists() else []
            return done.returncode, done.stdout, (wine / "ran").read_text().split(), reruns

    def test_a_silent_test_is_repeated_and_counted(self):
        for program in ("x_test.exe", "x_fuzz_replay.exe"):
            status, out, ran, reruns = self.run_program(f"bin/{program}", "53", "0 [ RUN ]")
            self.assertEqual((status, out, ran), (0, "[ RUN ]\n", [program] * 2))
            self.assertEqual(len(reruns), 1)
            self.assertIn("status 53", reruns[0])
            self.assertIn(program, reruns[0])

    def test_a_program_that_is_asked_for_its_version(self):
        for words in (["--version"], ["version"]):
            self.assertEqual(self.run_program("flanneld.exe", "53", "0 0.1.0", words=words)[:2], (0, "0.1.0\n"))
        self.assertEqual(self.run_program("flanneld.exe", "53", "0 0.1.0", words=["--version", "x"])[:2], (53, ""))

    def test_twice_is_enough(self):
        status, _, ran, reruns = self.run_program("x_test.exe", "53", "54", "55", "0")
        self.assertEqual((status, len(ran), len(reruns)), (55, 3, 2))

    def test_a_test_with_output_is_not_repeated(self):
        for out in ("[ RUN ]", f"[ RUN ] {NOT_STARTED}"):
            self.assertEqual(self.run_program("x_test.exe", f"3 {out}", "0"), (3, f"{out}\n", ["x_test.exe"], []))

    def test_another_silent_program_is_not_repeated(self):
        for program in ("replay.exe", "flanneld.exe", "x_test.exe.exe"):
            status, _, ran, reruns = self.run_program(program, "5", "0")
            self.assertEqual((status, ran, reruns), (5, [program], []))

    def test_the_first_start_is_repeated_too(self):
        for end in (f"1 {NOT_STARTED}", "53"):
            status, out, ran, reruns = self.run_program("x_test.exe", "0 [ RUN ]", services=(end, "0"))
            self.assertEqual((status, out, ran, len(reruns)), (0, "[ RUN ]\n", ["x_test.exe"], 1))
            self.assertEqual(self.run_program("x_test.exe", "0 [ RUN ]", services=(end, end, end))[::2], (1, []))
        self.assertEqual(self.run_program("x_test.exe", "0 [ RUN ]", services=("3 wine: bad prefix", "0"))[::2], (1, []))

    def test_silent_success_is_success(self):
        self.assertEqual(self.run_program("x_test.exe", "0", "1"), (0, "", ["x_test.exe"], []))


class StartUpTest(unittest.TestCase):
    def start(self, *script, whole):
        """(status or None while it runs, output, how often it was begun, whether it ended in Wine's start-up)"""
        with tempfile.TemporaryDirectory() as folder:
            log, waiting, begun = f"{folder}/log", list(script), []

            def begin():
                with open(log, "w") as file:
                    begun.append(subprocess.Popen(["sh", "-c", waiting.pop(0)], stdout=file))
                return begun[-1]

            process, text = start_up.start(begin, lambda: pathlib.Path(log).read_text().strip(), "program", whole, timeout=10)
            status = process.poll()
            for each in begun:
                each.kill()
                each.wait()
            return status, text, len(begun), start_up.ended_in_start_up(status, text)

    def test_a_silent_end(self):
        for whole in (True, False):
            self.assertEqual(self.start("exit 53", "echo well", whole=whole)[1:], ("well", 2, False))
            self.assertEqual(self.start("exit 53", "exit 53", "exit 54", whole=whole), (54, "", 3, True))
            self.assertEqual(self.start("exit 0", whole=whole), (0, "", 1, False))

    def test_an_end_with_output(self):
        self.assertEqual(self.start("echo no; exit 53", whole=True), (53, "no", 1, False))

    def test_a_second_program_that_does_not_start(self):
        for text in (INTERNAL_ERROR, NOT_STARTED):
            self.assertEqual(self.start(f"echo '{text}'; exit 1", "echo well", whole=True), (0, "well", 2, False))
            self.assertEqual(self.start(*[f"echo '{text}'; exit 1"] * 3, whole=True), (1, text, 3, True))
        self.assertEqual(self.start("echo fork/exec: no such file; exit 1", whole=True)[2:], (1, False))

    def test_a_program_that_runs(self):
        self.assertEqual(self.start("echo well; exec sleep 60", whole=False), (None, "well", 1, False))


if __name__ == "__main__":
    unittest.main()
