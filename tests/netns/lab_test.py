"""The lab itself: it sees how programs end and what they leave behind."""

import os
import signal
import tempfile

from lab import cases, command, daemon, footprint, namespace, topology, traffic

LEAK = "==7==ERROR: LeakSanitizer: detected memory leaks"


def failure_of(work):
    try:
        work()
        return ""
    except command.Failure as failure:
        return str(failure)


class Program:
    """A shell script as a daemon, its standard error as the log; it prints "ready" once it runs."""

    def __init__(self, script):
        file, self.log = tempfile.mkstemp(prefix="weft-lab-")
        process = command.start("sh", "-c", script, stderr=file)
        os.close(file)
        self.daemon = daemon.Daemon("program", process, self.log)

    def __enter__(self):
        command.wait_until(lambda: "ready" in daemon.text(self.log), "the script is ready")
        return self.daemon

    def __exit__(self, *_):
        command.stop(self.daemon.process, signal.SIGKILL)
        os.unlink(self.log)


def on_term(words, prints=""):
    return f"trap '{words}' TERM; echo '{prints}' >&2; echo ready >&2; while :; do sleep 0.01; done"


# What the program does, what ends it, words of the failure; none: it is right.
ENDS = [
    (on_term("exit 0"), signal.SIGTERM, []),
    (on_term("exit 3"), signal.SIGTERM, ["program ended with exit code 3 after SIGTERM, not with exit code 0"]),
    (on_term("kill -ABRT $$"), signal.SIGTERM, ["program ended with signal SIGABRT after SIGTERM"]),
    (on_term(""), signal.SIGTERM, ["ignored SIGTERM for"]),
    (on_term(f"echo {LEAK} >&2; echo where >&2; exit 0"), signal.SIGTERM, ["program reports a defect of its own", LEAK, "where"]),
    (on_term(f"echo {LEAK} >&2; exit 1"), signal.SIGTERM, ["exit code 1", LEAK]),
    (on_term("exit 0", "a.cc:7: runtime error: signed integer overflow"), signal.SIGTERM, ["signed integer overflow"]),
    (on_term("exit 0", "a.h:7: T f(): Assertion ok failed."), signal.SIGKILL, ["Assertion ok failed"]),
    (on_term("exit 0"), signal.SIGKILL, []),
]


def test_ends():
    for script, how, words in ENDS:
        with Program(script) as program:
            reported = failure_of(lambda: program.stop(how, timeout=0.5))
            command.expect(bool(reported) == bool(words) and all(word in reported for word in words), f"{script}: {reported!r} instead of {words}")


def test_report_of_a_command():
    """Also where the exit code does not matter."""
    for check in (True, False):
        reported = failure_of(lambda: command.run("sh", "-c", f"echo {LEAK} >&2; exit 1", check=check))
        command.expect(LEAK in reported and "exit 1" in reported, f"check={check}: {reported!r}")


def test_ended_by_itself():
    """Detected during the test and at its end."""
    for script, words in (("echo ready >&2; exit 0", "exit code 0"), ("echo ready >&2; exit 7", "exit code 7"),
                          ("echo ready >&2; kill -SEGV $$", "signal SIGSEGV")):
        with Program(script) as program:
            command.wait_until(program.ended, "the program has ended")
            for check in (program.expect_running, program.stop, lambda: program.stop(signal.SIGKILL)):
                command.expect(f"program ended by itself with {words}: ready" in failure_of(check), f"{script}: {failure_of(check)!r}")


def test_expected_exit():
    with Program("echo ready >&2; exit 2") as program:
        program.expect_exit(2, "a wrong flag")
        command.expect_equal(failure_of(lambda: program.expect_exit(1, "a wrong file")),
                             "a wrong file: program ended with exit code 2, not with exit code 1: ready", "another code")
    with Program(f"echo ready >&2; echo {LEAK} >&2; exit 1") as program:
        command.expect(LEAK in failure_of(lambda: program.expect_exit(1, "a leak, with the right code")), "a report was not seen")
    with Program(on_term("exit 0")) as program:
        command.expect("does not end" in failure_of(lambda: program.expect_exit(0, "an end", timeout=0.1)), "a program that stays was not seen")


class FailingNode:
    name = "failing"

    def down(self):
        raise command.Failure("not down")

    def close(self):
        raise command.Failure("not closed")


def test_failing_end():
    """Fails a test whose body passed, and is reported in addition to the body's own failure."""
    def body(error):
        with topology.Lab() as lab:
            lab.nodes.append(FailingNode())
            if error:
                raise error

    command.expect_equal(cases.judge(body, None), "not down\nnot closed", "the failure")
    command.expect_equal(cases.judge(body, command.Failure("its own")), "its own\nand at the end: not down\nand at the end: not closed", "the failures")
    other = cases.judge(body, ValueError("a defect"))
    command.expect("ValueError: a defect" in other and "and at the end: not down" in other, f"next to another exception: {other}")


# What is done to a node, and how footprint.differences names it.
CHANGES = [
    (lambda host: host.ip("link add left0 type bridge"), ["device left0 is new"]),
    (lambda host: host.ip("addr add 10.1.0.1/24 dev there0"), ["address 10.1.0.1/24 dev there0 is new"]),
    (lambda host: host.ip("route add 10.2.0.0/24 via 10.0.0.7 proto static"),
     ["route dst 10.2.0.0/24 gateway 10.0.0.7 dev there0 protocol static is new"]),
    (lambda host: host.ip("route del 10.9.0.0/24 table 100"), ["route dst 10.9.0.0/24 gateway 10.0.0.7 dev there0 table 100 is gone"]),
    (lambda host: host.ip("route add fd01::/64 dev there0"), ["route dst fd01::/64 dev there0 metric 1024 is new"]),
    (lambda host: host.ip("rule add from 10.3.0.0/24 table 7"), ["rule -4"]),
    (lambda host: host.run("nft", "add", "table", "inet", "left"), ["nft list ruleset was '' and is 'table inet left {"]),
    (lambda host: host.sysctl(net__ipv4__ip_forward=1), ["sysctl net/ipv4/conf/", "sysctl net/ipv4/ip_forward was '0' and is '1'"]),
    (lambda host: host.ip("link set there0 mtu 1400"), ["device there0 was"]),
    (lambda host: host.ip("link set there0 promisc on"), ["device there0 was"]),
    (lambda host: host.ip("link delete there1"), ["device there0 is gone", "device there1 is gone"]),
]


def test_footprint():
    host = namespace.Namespace("host")
    host.ip("link add there0 type veth peer name there1", "link set there1 up", "link set there0 up", "addr add 10.0.0.1/24 dev there0",
            "route add 10.9.0.0/24 via 10.0.0.7 table 100")
    before = footprint.take(host)
    command.expect_equal(footprint.differences(before, footprint.take(host)), [], "differences without a change")
    for change, words in CHANGES:
        change(host)
        now = footprint.take(host)
        found = footprint.differences(before, now)
        for word in words:
            command.expect(any(each.startswith(word) for each in found), f"{found} lacks {word!r}")
        before = now


def test_left_table():
    """Only our new table is allowed: a foreign table, and a missing table of ours, are differences."""
    host = namespace.Namespace("host")
    before = footprint.take(host)
    host.run("nft", "-f", "-", stdin="table inet weft {\nchain c {\naccept\n}\n}\ntable inet wefted {\nchain c {\ndrop\n}\n}\n")
    after = footprint.take(host)
    found = footprint.differences(before, after)
    command.expect("nft table inet weft is new" in found, f"{found}")
    left = footprint.without_left_table(found)
    command.expect(len(left) == 1 and "table inet wefted" in left[0] and "table inet weft " not in left[0], f"{left}")
    command.expect("nft table inet weft is gone" in footprint.without_left_table(footprint.differences(after, before)), "gone")


def test_left_routes():
    """Only a route of ours, and the one it replaces, are allowed."""
    ours = "route dst 10.2.0.0/24 gateway 10.0.0.7 dev u0 protocol 87 is new"
    replaced = "route dst 10.2.0.0/24 gateway 10.0.0.7 dev u0 is gone"
    others = ["route dst 10.3.0.0/24 gateway 10.0.0.7 dev u0 is gone", "route dst 10.4.0.0/24 gateway 10.0.0.7 dev u0 protocol static is new",
              "route dst 10.5.0.0/24 gateway 10.0.0.7 dev u0 protocol 87 is gone", "device flannel.4096 is new"]
    command.expect_equal(footprint.without_left_routes([ours, replaced, *others]), others, "what is left")


def test_unanswered_pings():
    """Holes count, and so does an end without answers that is longer than what may be on its way."""
    def said(sent, answered):
        return "\n".join([*(f"64 bytes from 10.0.0.1: icmp_seq={number} ttl=63 time=0.1 ms" for number in answered),
                          f"{sent} packets transmitted, {len(answered)} received"])

    for sent, answered, expected in ((5, [1, 2, 3, 4, 5], []), (5, [1, 3, 4, 5], [2]), (5, [1, 2, 3], []), (5, [1, 2], [3, 4, 5]), (2, [], [1, 2])):
        command.expect_equal(traffic.unanswered(said(sent, answered), 2), (expected, len(answered)), f"of {sent}, answered {answered}")
