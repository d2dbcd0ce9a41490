"""What takes part in the end-to-end rows: pairs of nodes, and the labs that they run in."""

import os
import signal
import subprocess
from typing import NamedTuple

from lab import command, frames_node, node, openvswitch, topology, upstream_udp


class TunedKernelNode(node.KernelNode):
    """The kernel's VXLAN device without what flannel adds to it, and GRO on the links where veth has it off by default.

    The outer checksum stays on, as weft's is."""

    kind = "kernel"

    def up(self):
        super().up()
        for where, device in ((self.pod, "e0"), (self.host, "pod"), (self.host, "u0")):
            where.run("ethtool", "-K", device, "gro", "on")


BUSY_POLL_US = 20_000  # longer than the time between two pings: the node spins


class BusyPollNode(node.WeftNode):
    def up(self, **options):
        super().up(busy_poll=BUSY_POLL_US, **options)


class CapturedNode(node.WeftNode):
    """With `flannelctl capture` of the outer frames next to it."""

    def up(self, **options):
        super().up(**options)
        self.capture = self.host.start(self.lab.program("flannelctl"), "capture", "--write=/dev/null", f"--admin={self.path('admin.sock')}",
                                       stderr=subprocess.PIPE)
        first = self.capture.stderr.readline()
        command.expect(first.startswith("capturing "), f"flannelctl capture: {first}")

    def down(self, how=signal.SIGTERM):
        capture, self.capture = getattr(self, "capture", None), None
        if capture:
            capture.send_signal(signal.SIGINT)
            capture.communicate(timeout=30)
        return super().down(how)


class Contender(NamedTuple):
    what: str
    a: type
    b: type
    wire: bool = False  # without offloads on the underlay
    backwards: bool = False  # from b to a

    def lab(self):
        """Contenders that differ in direction only share a lab."""
        return self.a, self.b, self.wire


CONTENDERS = {
    "kernel": Contender("kernel vxlan, as upstream flannel makes the device", node.KernelNode, node.KernelNode),
    "kernel-tuned": Contender("kernel vxlan, GRO on all links", TunedKernelNode, TunedKernelNode),
    "weft": Contender("weft", node.WeftNode, node.WeftNode),
    "weft-to-kernel": Contender("weft sends, kernel vxlan receives", node.WeftNode, node.KernelNode),
    "kernel-to-weft": Contender("kernel vxlan sends, weft receives", node.WeftNode, node.KernelNode, backwards=True),
    "weft-whole": Contender("weft with --superframes=whole", node.WholeNode, node.WholeNode),
    "weft-busy-poll": Contender(f"weft with --busy-poll={BUSY_POLL_US}, kernel peer", BusyPollNode, node.KernelNode),
    "weft-both-busy-poll": Contender(f"both weft with --busy-poll={BUSY_POLL_US}", BusyPollNode, BusyPollNode),
    "udp": Contender("upstream flannel's udp backend", upstream_udp.UpstreamUdpNode, upstream_udp.UpstreamUdpNode),
    "ovs": Contender("Open vSwitch, userspace datapath", openvswitch.OpenVSwitchNode, openvswitch.OpenVSwitchNode),
    "pcap": Contender("weft, pods on an adapter by libpcap", frames_node.PcapNode, frames_node.PcapNode),
    "captured": Contender("weft, flannelctl capture next to both nodes", CapturedNode, CapturedNode),
    "kernel-wire": Contender("kernel vxlan, underlay without offloads", node.KernelNode, node.KernelNode, wire=True),
    "weft-wire": Contender("weft, underlay without offloads", node.WeftNode, node.WeftNode, wire=True),
}


class Labs:
    """The labs of some contenders. The programs of a lab run only while it is measured: the others are stopped (SIGSTOP)."""

    def __init__(self, names):
        self._labs = {}
        self._names = names

    def __enter__(self):
        try:
            for name in self._names:
                contender = CONTENDERS[name]
                if contender.lab() not in self._labs:
                    lab = self._labs[contender.lab()] = topology.pair(contender.a, contender.b, mtu=1500)
                    if contender.wire:
                        topology.no_offloads(*(each.host for each in lab.nodes))
                    lab.up()
                    signal_programs(lab, signal.SIGSTOP)
        except BaseException as error:
            self.__exit__(type(error), error, None)
            raise
        return self

    def __exit__(self, kind, error, trace):
        labs, self._labs = self._labs, {}
        for lab in labs.values():
            signal_programs(lab, signal.SIGCONT)
        found = command.failures([lambda lab=lab: lab.__exit__(None, None, None) for lab in labs.values()])
        command.add_failures(error, found)

    def run(self, name):
        """A context: the lab's programs run; yields the node that sends and the node that receives."""
        return Running(self._labs[CONTENDERS[name].lab()], CONTENDERS[name].backwards)


def signal_programs(lab, number):
    for each in lab.nodes:
        for where in (each.host, each.pod, *each.others):
            for pid in command.run("ip", "netns", "pids", where.name, check=False).split():
                try:
                    os.kill(int(pid), number)
                except ProcessLookupError:
                    pass


class Running:
    def __init__(self, lab, backwards):
        self._lab = lab
        self._backwards = backwards

    def __enter__(self):
        signal_programs(self._lab, signal.SIGCONT)
        return self._lab.nodes[::-1] if self._backwards else self._lab.nodes

    def __exit__(self, *_):
        signal_programs(self._lab, signal.SIGSTOP)
