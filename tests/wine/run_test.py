#!/usr/bin/env python3
"""tests/wine/run.sh with a Wine of shell scripts: which runs are repeated, and that they are counted."""
import os
import pathlib
import subprocess
import tempfile
import unittest

RUN = pathlib.Path(__file__).parent / "run.sh"

# Each run of a program consumes one line of `script`, "STATUS WORDS...", and writes the program's name to `ran`.
WINE64 = """#!/bin/sh
[ "$1" != cmd ] || exit 0
cd "${0%/*}"
echo "${1##*/}" >>ran
read -r status words <script
sed -i 1d script
[ -z "$words" ] || echo "$words"
exit "$status"
"""


class RunTest(unittest.TestCase):
    def run_program(self, program, *script):
        """(exit status, standard output, programs that ran, lines of WEFT_WINE_RERUNS)"""
        with tempfile.TemporaryDirectory() as folder:
            wine = pathlib.Path(folder)
            (wine / "drive_c").mkdir()
            for name, text in (("wine64", WINE64), ("wineserver", "#!/bin/sh\n")):
                (wine / name).write_text(text)
                (wine / name).chmod(0o755)
            (wine / "script").write_text("".join(f"{line}\n" for line in script))
            environment = os.environ | {"WEFT_WINE": folder, "WINEPREFIX": folder, "WEFT_WINE_RERUNS": f"{folder}/reruns"}
            done = subprocess.run([RUN, program], env=environment, capture_output=True, text=True, check=False)
            reruns = (wine / "reruns").read_text().splitlines() if (wine / "reruns").exists() else []
            return done.returncode, done.stdout, (wine / "ran").read_text().split(), reruns

    def test_a_silent_test_is_repeated_and_counted(self):
        status, out, ran, reruns = self.run_program("bin/x_test.exe", "53", "0 [ RUN ]")
        self.assertEqual((status, out, ran), (0, "[ RUN ]\n", ["x_test.exe", "x_test.exe"]))
        self.assertEqual(len(reruns), 1)
        self.assertIn("status 53", reruns[0])
        self.assertIn("x_test.exe", reruns[0])

    def test_once_is_enough(self):
        status, _, ran, reruns = self.run_program("x_test.exe", "53", "54", "0")
        self.assertEqual((status, len(ran), len(reruns)), (54, 2, 1))

    def test_a_test_with_output_is_not_repeated(self):
        status, out, ran, reruns = self.run_program("x_test.exe", "3 [ RUN ]", "0")
        self.assertEqual((status, out, ran, reruns), (3, "[ RUN ]\n", ["x_test.exe"], []))

    def test_another_silent_program_is_not_repeated(self):
        for program in ("record_fuzz_replay.exe", "flanneld.exe", "x_test.exe.exe"):
            status, _, ran, reruns = self.run_program(program, "5", "0")
            self.assertEqual((status, ran, reruns), (5, [program], []))

    def test_silent_success_is_success(self):
        self.assertEqual(self.run_program("x_test.exe", "0", "1"), (0, "", ["x_test.exe"], []))


if __name__ == "__main__":
    unittest.main()
