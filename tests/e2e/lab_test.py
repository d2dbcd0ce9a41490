"""This lab itself: a program that dies is noticed, and a failed test leaves nothing to the next."""

import os
import signal

import suite
from cluster.cluster import nightly
from cluster.member import Weft
from lab import command


def crash(daemon, how=signal.SIGSEGV):
    os.kill(daemon.process.pid, how)
    command.wait_until(daemon.ended, "it has crashed")


def expect_seen(cluster, words, checks):
    for check in checks:
        try:
            check()
        except command.Failure as failure:
            command.expect(words in str(failure), f"{failure} lacks {words!r}")
        else:
            raise command.Failure(f"nobody saw: {words}")


@nightly
def test_deaths_are_seen(cluster):
    """Also when only another node is checked; no failure once the test has ended the dead program itself."""
    a, b = cluster.pair()
    checks = [cluster.differences, lambda: cluster.differences(a), cluster.silent_pairs, lambda: cluster.settle("a death", of=a)]
    for each in (a, b):
        crash(each.daemon)
        expect_seen(cluster, f"flanneld of {each.name} ended by itself with", [*checks, each.down])
        each.up()
        cluster.settle(f"{each.name} starts after a crash")
    etcd = cluster.control.etcd
    crash(etcd, signal.SIGKILL)
    expect_seen(cluster, "etcd ended by itself with signal SIGKILL", [*checks, cluster.control.stop_etcd])
    cluster.control.start_etcd()
    cluster.control.wait_ready(20)


@nightly
def test_a_node_that_cannot_be_made(cluster):
    """Its port on the underlay is free for the next test's node of its name."""
    class Failing(Weft):
        def __init__(self, *arguments):
            super().__init__(*arguments)
            raise command.PeerFailure("no Wine today")

    expect_seen(cluster, "no Wine today", [lambda: cluster.add("a", kind=Failing)])
    cluster.site.tidy()
    command.expect("to-a" not in cluster.site.fabric.devices(), "the port is left")


@nightly
def test_a_site_that_does_not_come_up(_):
    """The first test is the one that a peer failed, and the next one tries again; a second time nothing can run."""
    class Silent:
        api, closed = None, False

        def up(self):
            raise command.PeerFailure("waited 600 s in vain: etcd answers")

        def close(self):
            self.closed = True
            raise command.PeerFailure("etcd ended by itself")

    site = Silent()
    command.expect_equal(suite.up(site, again=False), "peer: waited 600 s in vain: etcd answers; etcd ended by itself", "the first time")
    command.expect(site.closed, "what was started is left")
    try:
        suite.up(site, again=True)
    except command.Failure as failure:
        command.expect("does not come up, twice" in str(failure), f"not said: {failure}")
    else:
        raise command.Failure("the second time passed")
