"""Running programs, waiting for conditions, failing with one line."""

import ctypes
import os
import re
import signal
import subprocess
import threading
import time


REPORT = re.compile(r"Sanitizer|runtime error:|Assertion|terminate called")
SHOWN = 30  # lines of a report


class Failure(Exception):
    """A test's or bench's reason to stop, one line for people."""


PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None, use_errno=True)


def die_with_parent():
    """For a child between fork and exec: no process outlives an interrupted run."""
    _libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def run(*words, stdin=None, check=True, timeout=60):
    """Runs to the end and returns standard output. A failure names the command and shows its errors. Without `check` any exit code is accepted,
    a report of a sanitizer never."""
    try:
        done = subprocess.run(words, input=stdin, text=True, capture_output=True, timeout=timeout, preexec_fn=die_with_parent)
    except subprocess.TimeoutExpired:
        raise Failure(f"{' '.join(words)}: no end after {timeout} s") from None
    found = report(done.stderr)
    expect(not found, f"{' '.join(words)}: exit {done.returncode}, a defect of its own:\n{found}")
    if check and done.returncode != 0:
        complaint = (done.stderr.strip() or done.stdout.strip() or "no output").splitlines()[-2:]
        raise Failure(f"{' '.join(words)}: exit {done.returncode}: {'; '.join(complaint)}")
    return done.stdout


def report(text):
    """What a sanitizer or an assertion wrote into a program's standard error, "" without."""
    lines = text.splitlines()
    first = next((i for i, line in enumerate(lines) if REPORT.search(line)), None)
    return "" if first is None else "\n".join(f"    {line}" for line in lines[first:first + SHOWN])


def start(*words, **options):
    return subprocess.Popen(words, text=True, preexec_fn=die_with_parent, **options)


def stop(process, how=signal.SIGTERM, timeout=5):
    """Ends a process that we started; its exit code."""
    if process.poll() is None:
        process.send_signal(how)
        try:
            process.wait(timeout)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            raise Failure(f"{process.args[-1]} ignored {signal.Signals(how).name} for {timeout} s") from None
    return process.returncode


class Background:
    """`work()` on a thread of its own, while the test does something else."""

    def __init__(self, work):
        self._outcome = None
        self._thread = threading.Thread(target=self._run, args=(work,))
        self._thread.start()

    def _run(self, work):
        try:
            self._outcome = work()
        except Exception as error:  # raised again where the result is read
            self._outcome = error

    def running(self):
        return self._thread.is_alive()

    def outcome(self):
        """What it returned or raised so far, for messages."""
        return "still running" if self.running() else self._outcome

    def result(self):
        """Waits for the end; what it returned, or raises what it raised."""
        self._thread.join()
        if isinstance(self._outcome, Exception):
            raise self._outcome
        return self._outcome


def wait_until(condition, what, timeout=5, interval=0.02):
    """Polls until `condition()` is truthy and returns that value."""
    deadline = time.monotonic() + timeout
    while True:
        late = time.monotonic() > deadline  # before the condition, which a stall of this process must not outdate
        value = condition()
        if value:
            return value
        if late:
            raise Failure(f"waited {timeout} s in vain: {what() if callable(what) else what}")
        time.sleep(interval)


def expect(condition, reason):
    if not condition:
        raise Failure(reason)


def expect_equal(got, expected, what):
    if got != expected:
        raise Failure(f"{what}: got {got!r}, expected {expected!r}")


def failures(works):
    """Does all of them; why some failed."""
    found = []
    for work in works:
        try:
            work()
        except Failure as failure:
            found.append(str(failure))
        except Exception as error:  # the rest must still run
            found.append(f"{type(error).__name__}: {error}")
    return found


def add_failures(error, found):
    """At an end: `found`, in addition to the body's failure (`error`, if any)."""
    if found and error is None:
        raise Failure("\n".join(found))
    for each in found:
        error.add_note(f"and at the end: {each}")


def alive(pid):
    return os.path.exists(f"/proc/{pid}")
