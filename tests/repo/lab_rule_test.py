#!/usr/bin/env python3
"""The rule on chance in tests/netns/lab: which waits are late, and which failed tests tests/run.sh may repeat. The clock is the test's own."""
import pathlib
import subprocess
import sys
import types
import unittest.mock

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "netns"))

from lab import cases, command, daemon  # noqa: E402

now = 0.0


def pass_by(seconds):
    global now
    now += seconds


command.time = types.SimpleNamespace(monotonic=lambda: now, sleep=pass_by)


def comes_after(seconds, limit=5, **options):
    """A wait for what comes so late; None: never."""
    began = now
    command.wait_until(lambda: seconds is not None and now - began >= seconds, "it", timeout=limit, interval=1, **options)


def stalled():
    """The condition itself takes longer than the limit, and is true: this process was not scheduled."""
    command.wait_until(lambda: pass_by(30) or True, "it", timeout=5)


def not_polled():
    """Nor between two polls."""
    began = now
    command.wait_until(lambda: now - began >= 30, "it", timeout=5, interval=30)


def ends_with(*works):
    """A lab whose body is the first work, and its end the rest."""
    def test():
        error = None
        try:
            works[0]()
        except Exception as caught:
            error = caught
            raise
        finally:
            command.add_failures(error, command.failures(works[1:]))
    return test


def in_order(*works):
    def test():
        for each in works:
            each()
    return test


def background():
    command.Background(lambda: comes_after(7)).result()


def failing(text):
    def test():
        raise command.Failure(text)
    return test


def defect():
    raise ValueError("a defect of the test")


def slow_command():
    run = subprocess.run
    with unittest.mock.patch.object(subprocess, "run", lambda *words, **options: pass_by(70) or run(*words, **options)):
        command.run("true")


def ending(peer, started):
    """A program that ends at once, before or after its start is seen, and the end of its test."""
    def test():
        process = subprocess.Popen(["sh", "-c", "exit 1"])
        process.wait()
        program = daemon.Daemon("program", process, peer=peer)
        if started:
            process.poll = lambda: None
            program.wait_until_started(lambda: True, "a start", 5)
            del process.poll
        ends_with(lambda: program.wait_until_started(lambda: False, "a start", 5), program.stop)()
    return test


def nothing():
    pass


def late():
    comes_after(7)


def peer_never():
    comes_after(None, peer=True)


def report():
    command.run("sh", "-c", "echo ERROR: LeakSanitizer: detected memory leaks >&2", check=False)


wrong_byte = failing("bytes received: got 1, expected 2")
LATE = "late: waited 5 s, came after 7.0 s: it"
PEER = "peer: waited 50 s in vain: it"

# given, the test, how its reason begins (None: it passed), what the reason has too
TESTS = [
    ("in time", lambda: comes_after(5), None, []),
    ("a stalled process", stalled, None, []),
    ("a stall between two polls", not_polled, None, []),
    ("late once", late, LATE, []),
    ("late twice", in_order(late, late), LATE, ["it; waited 5 s"]),
    ("late on another thread", background, LATE, []),
    ("late at the end of a lab", ends_with(nothing, late), LATE, []),
    ("at the last moment", lambda: comes_after(50), "late: waited 5 s, came after 50.0 s", []),
    ("never", lambda: comes_after(None), "waited 50 s in vain: it", []),
    ("after ten times its limit", lambda: comes_after(52), "waited 50 s in vain: it", []),
    ("late of half a minute", lambda: comes_after(119, limit=30), "late: waited 30 s, came after 119.0 s", []),
    ("after two minutes", lambda: comes_after(122, limit=30), "waited 120 s in vain: it", []),
    ("a limit above two minutes", lambda: comes_after(290, limit=300), None, []),
    ("after a limit above two minutes", lambda: comes_after(302, limit=300), "waited 300 s in vain: it", []),
    ("a peer late once", lambda: comes_after(7, peer=True), LATE, []),
    ("a peer never", peer_never, PEER, []),
    ("late, then a peer never", in_order(late, peer_never), PEER, ["and late: waited 5 s"]),
    ("late, then never", in_order(late, lambda: comes_after(None)), "waited 50 s in vain", ["and late: waited 5 s"]),
    ("late, then a wrong byte", in_order(late, wrong_byte), "bytes received", ["and late: waited 5 s"]),
    ("late, then an exception", in_order(late, defect), "ValueError: a defect", ["and late: waited 5 s"]),
    ("late, then a sanitizer's report", in_order(late, report), "sh -c", ["LeakSanitizer", "and late: waited 5 s"]),
    ("late, then a wrong byte at the end", ends_with(late, wrong_byte), "bytes received", ["and late: waited 5 s"]),
    ("a peer never, a sanitizer's report at the end", ends_with(peer_never, report), "waited 50 s in vain: it", ["and at the end", "LeakSanitizer"]),
    ("a peer never, late at the end", ends_with(peer_never, late), PEER, ["and late: waited 5 s"]),
    ("a peer never, at the end neither", ends_with(peer_never, peer_never), PEER, ["and at the end: waited 50 s"]),
    ("a peer never, only at the end", ends_with(nothing, peer_never), PEER, []),
    ("at the end a peer never, and a wrong byte", ends_with(nothing, peer_never, wrong_byte), "waited 50 s in vain", ["bytes received"]),
    ("a wrong byte, a peer never at the end", ends_with(wrong_byte, peer_never), "bytes received", ["and at the end"]),
    ("a peer ends at its start", ending(peer=True, started=False), "peer: program ended by itself", ["and at the end: program ended by itself"]),
    ("a peer ends later", ending(peer=True, started=True), "program ended by itself", []),
    ("weft ends at its start", ending(peer=False, started=False), "program ended by itself", []),
    ("a failure that begins like a late one", failing("late: got 1, expected 0"), "failed: late: got 1", []),
    ("an elapsed time at its bound", lambda: command.within(5, 5, "it"), None, []),
    ("above its bound", lambda: command.within(5.1, 5, "it"), "late: took 5.1 s, at most 5 s: it", []),
    ("ten times its bound", lambda: command.within(50.1, 5, "it"), "took 50.1 s, at most 5 s: it", []),
    ("above two minutes", lambda: command.within(121, 30, "it"), "took 121 s", []),
    ("a command that takes long", slow_command, "late: took 70 s, at most 60 s: true", []),
]

# given, the reasons of test, inspection and end, the whole
MERGED = [
    ("nothing", [None, None, None], None),
    ("late at the end", [None, None, "late: a"], "late: a"),
    ("late twice", ["late: a", None, "late: b"], "late: a; b"),
    ("late, and a peer", ["late: a", None, "peer: b"], "peer: a; b"),
    ("a peer, and late", ["peer: a", "late: b", None], "peer: a; b"),
    ("late, and wrong", ["late: a", "b", None], "b\nand then: late: a"),
    ("wrong, and late", ["a", None, "late: b"], "a\nand then: late: b"),
]

failed = 0
for given, test, begin, words in TESTS:
    reason = cases.judge(test)
    if (reason is None) != (begin is None) or reason and not (reason.startswith(begin) and all(word in reason for word in words)):
        failed += 1
        print(f"{given}: {reason!r}, not {begin!r} with {words}")
for given, reasons, whole in MERGED:
    if cases.merge(reasons) != whole:
        failed += 1
        print(f"{given}: {cases.merge(reasons)!r}, not {whole!r}")
chosen = [name for name, _ in cases.choose([("a.b", None), ("a.bc", None)], ["a"], exactly="a.b")]
if chosen != ["a.b"]:
    failed += 1
    print(f"exactly a.b: {chosen}")
sys.exit(failed != 0)
