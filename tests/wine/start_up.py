"""Starts a program under Wine, for tests/wine/run.sh and tests/e2e: the one place that starts a program again. As a program: start_up.py WORDS...

About one program in a thousand ends in Wine's own start-up, before main and without output. On a busy machine a program that starts a second one
sometimes cannot, and says so: Wine's own start.exe, or one in Go; a CNI plugin that needed it has made nothing yet. Each repetition is a line in the
file WEFT_WINE_RERUNS.
"""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time


def ended_in_start_up(code, text):
    second = text.startswith("Application could not be started") or all(word in text for word in ("fork/exec", "Internal error"))
    return code not in (None, 0) and (not text or second)


def start(begin, output, name, whole, timeout=None):
    """The process that `begin()` returns, and its `output()`: at its end (`whole`), or as soon as it has output or `timeout` seconds are over.
    After an end in Wine's start-up it begins again, twice at most; `ended_in_start_up` shows the caller that this ended so, too."""
    for last in (False, False, True):
        process = begin()
        if whole:
            process.wait(timeout)
        else:
            deadline = time.monotonic() + timeout
            while process.poll() is None and not output() and time.monotonic() < deadline:
                time.sleep(0.02)
        text = output()
        if last or not ended_in_start_up(process.poll(), text):
            return process, text
        why = " ".join(text.split()) or "without output"
        line = f"tests/wine/start_up.py: {name} ended in Wine's start-up, status {process.returncode}, {why}; repeated"
        print(line, file=sys.stderr, flush=True)
        if os.environ.get("WEFT_WINE_RERUNS"):
            with open(os.environ["WEFT_WINE_RERUNS"], "a", encoding="utf-8") as file:
                file.write(line + "\n")


def main(program):
    """Its exit status."""
    folder = tempfile.mkdtemp()
    paths = [os.path.join(folder, name) for name in ("out", "error")]

    def begin():
        with open(paths[0], "wb") as out, open(paths[1], "wb") as error:
            return subprocess.Popen(program, stdout=out, stderr=error)

    def output():
        return "".join(open(path, encoding="utf-8", errors="replace").read() for path in paths)

    try:
        # What always prints something first, so that this repeats none that started: GoogleTest (our *_test.exe), a fuzz target's replay, a
        # program that is asked for its version. Another program may be silent.
        prints = program[1].endswith(("_test.exe", "_replay.exe")) or program[2:] in (["--version"], ["version"])
        if prints or program[1:] == ["cmd", "/c", "exit"]:
            process, _ = start(begin, output, program[1], whole=True)
        else:
            process = begin()
            process.wait()
        for path, to in zip(paths, (sys.stdout, sys.stderr)):
            with open(path, "rb") as file:
                shutil.copyfileobj(file, to.buffer)
            to.flush()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return process.returncode if process.returncode >= 0 else 128 - process.returncode


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    sys.exit(main(sys.argv[1:]))
