"""A node changes from upstream's flanneld to weft and back, twice, while its pods talk; measured against upstream's own restart."""

import signal

from lab import command, traffic

from cluster import member
from cluster.cluster import weft_only

INTERVAL = 0.01  # seconds between pings


class Either(member.Weft):
    """A node with one set of files for both programs."""

    def __init__(self, cluster, name):
        super().__init__(cluster, name)
        self.current = member.Upstream
        self.weft_flags = {key: self.flags.pop(key) for key in ("dataplane", "admin", "state-dir")} | {"replace-kernel-device": "true"}

    @property
    def kind(self):
        return self.current.kind

    def program(self):
        return self.current.program()

    def command_line(self):
        flags = self.flags | (self.weft_flags if self.current is member.Weft else {})
        return [self.program(), *(f"--{name}={value}" for name, value in flags.items())]

    def flannelctl(self, *words, check=True):
        self.flags["admin"] = self.weft_flags["admin"]
        try:
            return super().flannelctl(*words, check=check)
        finally:
            del self.flags["admin"]

    def table(self, family="ipv4"):
        """The kernel's, which both program for host-gw; for vxlan each has its own."""
        return self.current.table(self, family)

    def down(self, how=signal.SIGTERM):
        """What upstream leaves is not weft's to remove."""
        return member.Member.down(self, how)

    def shown(self):
        return member.Member.shown(self)

    def change(self, program):
        self.down()
        self.current = program
        self.up()


def lost_while(a, b, action):
    """How many pings from b's pod to a's, and back, are lost while a changes."""
    pings = [traffic.Pings(b.pod, a.pod_ip, INTERVAL), traffic.Pings(a.pod, b.pod_ip, INTERVAL)]
    action()
    return sum(len(each.finish()[0]) for each in pings)


def migrate(cluster, **backend):
    """{what: pings lost}: upstream's own restart, then there and back, twice. The pods stay, and so do subnet.env and the annotations."""
    a, b = cluster.add("a", kind=Either), cluster.add("b")
    for each in (a, b):
        each.net_conf["Backend"] = backend
        each.spawn()
    for each in (a, b):
        each.wait_ready()
    command.wait_until(lambda: not cluster.silent_pairs(), "pods reach one another", timeout=20)
    env, published = a.subnet_env(), cluster.published("a")
    lost = {"upstream restarts": lost_while(a, b, lambda: a.change(member.Upstream))}
    for turn in (1, 2):
        for program in (member.Weft, member.Upstream):
            what = f"to {program.kind}, turn {turn}"
            lost[what] = lost_while(a, b, lambda program=program: a.change(program))
            command.expect_equal(a.subnet_env(), env, f"subnet.env {what}")
            command.wait_until(lambda: not cluster.silent_pairs(), f"{what}: pods reach one another", timeout=20)
            command.expect_equal(cluster.published("a"), published, f"annotations {what}")
    cluster.say(f"pings lost, one each {INTERVAL} s both ways: {lost}")
    return lost


@weft_only
def test_host_gw(cluster):
    """Routes stay over both programs' ends: nothing is lost that upstream's own restart does not lose."""
    lost = migrate(cluster, Type="host-gw")
    most = lost.pop("upstream restarts")
    command.expect(max(lost.values()) <= most, f"more than the {most} of upstream's own restart: {lost}")


@weft_only
def test_vxlan(cluster):
    """Our tunnel ends with its process, and upstream's device has to be made again: on the way back that is what is lost, as by upstream's own
    start without its device. On the way to weft the kernel's device works until ours replaces it."""
    lost = migrate(cluster, Type="vxlan", VNI=4096, Port=4789)
    a, b = cluster.members["a"], cluster.members["b"]

    def start_without_device():
        a.down()
        a.host.ip(f"link delete {member.DEVICES['ipv4']}")
        a.up()

    most = lost_while(a, b, start_without_device)
    cluster.say(f"upstream's own start without its device loses {most}")
    # The better of two turns: the machine may be busy in one.
    there = min(lost["to weft, turn 1"], lost["to weft, turn 2"])
    back = min(lost["to upstream, turn 1"], lost["to upstream, turn 2"])
    command.expect_equal(lost["upstream restarts"], 0, "pings lost in upstream's restart, whose device stays")
    command.expect(there <= most / 2, f"{there} pings lost on the way to weft, {most} by upstream without its device")
    command.expect(back <= 2 * most, f"{back} pings lost on the way back, {most} by upstream without its device")
