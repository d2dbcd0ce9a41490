"""Running programs, waiting for conditions, failing with one line."""

import contextlib
import ctypes
import os
import re
import signal
import subprocess
import threading
import time


REPORT = re.compile(r"Sanitizer|runtime error:|Assertion|terminate called")
SHOWN = 30  # lines of a report
LONGEST = 120  # seconds: no wait goes on for longer than this, unless its own limit is longer


class Failure(Exception):
    """A test's or bench's reason to stop, one line for people."""

    peer = False  # whether all that is wrong is a peer's fault: such a test may be repeated


class PeerFailure(Failure):
    """What is not weft's did not start or gave no output: etcd, an API server, upstream's programs, Wine, tools. Not for what weft may have caused."""

    peer = True


_late = []


@contextlib.contextmanager
def late_waits():
    """Yields the list to which each wait that ends after its limit is added meanwhile, in any thread: one test's."""
    global _late
    before, _late = _late, []
    try:
        yield _late
    finally:
        _late = before


def patience(limit):
    """How long a wait with this limit goes on, in seconds. What comes after the limit is late; what does not come at all did not converge."""
    return max(limit, min(10 * limit, LONGEST))


def within(took, limit, what):
    """An upper bound on elapsed seconds: above `limit` the test is late, above its patience it fails."""
    text = f"took {took:.3g} s, at most {limit:g} s: {what}"
    expect(took <= patience(limit), text)
    if took > limit:
        _late.append(text)


PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None, use_errno=True)


def die_with_parent():
    """For a child between fork and exec: no process outlives an interrupted run."""
    _libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def run(*words, stdin=None, check=True, timeout=60):
    """Runs to the end and returns standard output. A failure names the command and shows its errors. Without `check` any exit code is accepted,
    a report of a sanitizer never."""
    began = time.monotonic()
    try:
        done = subprocess.run(words, input=stdin, text=True, capture_output=True, timeout=patience(timeout), preexec_fn=die_with_parent)
    except subprocess.TimeoutExpired:
        raise Failure(f"{' '.join(words)}: no end after {patience(timeout)} s") from None
    within(time.monotonic() - began, timeout, " ".join(words))
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
        began = time.monotonic()
        process.send_signal(how)
        try:
            process.wait(patience(timeout))
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            raise Failure(f"{process.args[-1]} ignored {signal.Signals(how).name} for {patience(timeout)} s") from None
        within(time.monotonic() - began, timeout, f"{process.args[-1]} ends after {signal.Signals(how).name}")
    return process.returncode


def finish(process, what, timeout=20):
    """Waits until a process that we started ends by itself; what it wrote to its pipes. The exit code is the caller's to judge."""
    began = time.monotonic()
    try:
        texts = process.communicate(timeout=patience(timeout))
    except subprocess.TimeoutExpired:
        raise Failure(f"{what}: no end after {patience(timeout)} s") from None
    within(time.monotonic() - began, timeout, what)
    return texts


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


def wait_until(condition, what, timeout=5, interval=0.02, peer=False):
    """Polls until `condition()` is truthy and returns that value. After `timeout` it goes on, and the test is late. `peer`: what does not come is
    not weft's."""
    began, late = time.monotonic(), False
    while True:
        waited = time.monotonic() - began  # before the condition, which a stall of this process must not outdate
        value = condition()
        if value:
            if late:
                _late.append(f"waited {timeout} s, came after {waited:.1f} s: {what() if callable(what) else what}")
            return value
        late = waited > timeout
        if waited > patience(timeout):
            raise (PeerFailure if peer else Failure)(f"waited {patience(timeout)} s in vain: {what() if callable(what) else what}")
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
            found.append(failure)
        except Exception as error:  # the rest must still run
            found.append(Failure(f"{type(error).__name__}: {error}"))
    return found


def add_failures(error, found):
    """At an end: `found`, in addition to the body's failure (`error`, if any)."""
    only_peers = all(each.peer for each in found)
    if found and error is None:
        raise (PeerFailure if only_peers else Failure)("\n".join(map(str, found)))
    for each in found:
        error.add_note(f"and at the end: {each}")
    if not only_peers:
        error.peer = False


def alive(pid):
    return os.path.exists(f"/proc/{pid}")
