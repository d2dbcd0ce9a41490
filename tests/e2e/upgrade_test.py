"""Two versions of weft on one state folder, there and back, while pods talk. 0ac4ae1 is the last commit whose files have no version. In place of a
later weft a test writes its files: today's, with a higher version and members of other names."""

import contextlib
import json
import os
import re
import signal

from lab import command, footprint, lease, peers, topology

from cluster import member
from cluster.cluster import Cut, nightly, weft_only
from cluster.hns_node import HnsNode
from host_routes_test import routes
from leave_test import modifying
from migration_test import lost_while

MIB = 1 << 20
VXLAN = {"Type": "vxlan", "VNI": 4096, "Port": 4789}
HOST_GW = {"Type": "host-gw"}
FAR = "10.244.9.0/24"  # of a Node without a machine
MASQUERADE = ("filter-table", "inet weft", "", False)  # the ledger's row for --ip-masq
today = topology.find_program


def former(name):
    """The path of a program of 0ac4ae1."""
    path = os.path.join(peers.CACHE, "former-weft", name)
    command.expect(os.access(path, os.X_OK), f"{path} is missing; run: cmake/bootstrap.sh former")
    return path


class Versions(member.Weft):
    """A node with one set of files for the programs of two versions. `find`: the path of one of the version in use."""

    def program(self):
        return self.find("flanneld")

    def restart(self, find=None):
        self.down()
        self.find = find or self.find
        self.up()

    def state(self):
        """{name: text} of the files in --state-dir; a lock file has none."""
        found = {}
        for name in os.listdir(self.path("state")):
            with open(self.path(f"state/{name}"), encoding="utf-8") as file:
                found[name] = file.read()
        return {name: text for name, text in found.items() if text}

    def write_state(self, texts):
        for name, text in texts.items():
            lease.write_text(self.path(f"state/{name}"), text)

    def listed(self):
        """What the ledger lists, of either version: kind, name, id, and whether it existed before weft."""
        with contextlib.suppress(FileNotFoundError), open(self.path("state/ledger.json"), encoding="utf-8") as file:
            return {(row["kind"], row["name"], row["id"], row["adopted"]) for row in json.load(file)["entries"]}
        return set()

    def wait_listed(self, *rows):
        """Waits for these rows, and for any at all."""
        command.wait_until(lambda: self.listed() and set(rows) <= self.listed(), lambda: f"the ledger lists {self.listed()}", timeout=10)

    def conditions(self):
        """{subject: sentence} of those that last; 0ac4ae1 calls them troubles, and keeps the subjects of those that are over."""
        status = self.status()
        rows = status.get("conditions") or status.get("troubles") or []
        return {row["subject"]: text for row in rows if (text := row.get("condition", row.get("trouble")))}

    def reset(self, *words):
        """The exit code of `flannelctl reset`, and all that it prints."""
        words += (f"--hns={self.flags['hns']}",) if "hns" in self.flags else ()
        text = self.host.run("sh", "-c", '"$@" 2>&1; echo "exit $?"', "sh", self.find("flannelctl"), "reset", f"--state-dir={self.path('state')}",
                             "--admin=none", *words)
        code = re.search(r"exit (\d+)\n$", text)
        return int(code[1]), text[:code.start()]


class HnsVersions(Versions, HnsNode):
    """The emulator is of its client's version, because their connection is private to each; a file keeps HNS."""

    def emulate(self):
        super().emulate(f"--state={self.path('hns.json')}")

    def up(self):
        self.spawn()
        self.wait_for_health()

    def restart(self, find=None):
        self.down()
        self.emulator.stop()
        self.find = find or self.find
        self.emulate()
        self.up()

    def objects(self):
        state = self.hns("dump")
        return state["networks"], state["endpoints"]


def pair(cluster, find, backend):
    """a with the programs of `find`, and b, upstream's; not started."""
    a, b = cluster.add("a", kind=Versions), cluster.add("b")
    a.find = find
    for each in (a, b):
        each.net_conf["Backend"] = dict(backend)
    far = {"backend_type": "host-gw", "backend_data": "null"} if backend is HOST_GW else {}
    cluster.bystander("far", FAR, **far)
    return a, b


def start(cluster, *members):
    for each in members:
        each.spawn()
    for each in members:
        each.wait_ready()
    expect_talk(cluster, "start")


def expect_talk(cluster, what):
    command.wait_until(lambda: not cluster.silent_pairs(), lambda: f"{what}: {cluster.silent_pairs()}", timeout=20)


def expect_trusted(a, what):
    """It uses its ledger and its journal."""
    command.wait_until(lambda: not {"ledger", "journal"} & set(a.conditions()), lambda: f"conditions {what}: {a.conditions()}", timeout=10)


def expect_nothing_set_aside(a, what):
    names = set(a.state())
    command.expect(names <= {"ledger.json", "ledger.changes", "journal.json"}, f"files {what}: {sorted(names)}")


# ---- 0ac4ae1 and today's


def there_and_back(cluster, a, b):
    """{what: pings lost}: each version's own restart, and from one to the other and back, twice. What peers and pods read stays, and so does what
    either version's ledger lists."""
    a.wait_listed(MASQUERADE)
    env, published, listed = a.subnet_env(), cluster.published("a"), a.listed()
    lost = {}
    for what, find in (("0ac4ae1 restarts", former), ("to today's, turn 1", today), ("today's restarts", today), ("to 0ac4ae1, turn 1", former),
                       ("to today's, turn 2", today), ("to 0ac4ae1, turn 2", former)):
        lost[what] = lost_while(a, b, lambda find=find: a.restart(find))
        command.expect_equal(a.subnet_env(), env, f"subnet.env: {what}")
        expect_talk(cluster, what)
        expect_trusted(a, what)
        command.expect_equal(cluster.published("a"), published, f"annotations: {what}")
        command.expect(listed <= a.listed(), f"{what}: the ledger lists {a.listed()}, before {listed}")
    cluster.say(f"pings lost, one each 10 ms both ways: {lost}")
    return lost


@weft_only
@nightly
def test_host_gw(cluster):
    """Routes outlive both programs: nothing is lost that a restart of either does not lose. The last one knows what the first one took over."""
    a, b = pair(cluster, former, HOST_GW)
    a.host.ip(f"route add 10.244.2.0/24 via {b.address} dev eth0")  # as upstream leaves it
    start(cluster, a, b)
    a.wait_listed(("former-route", "10.244.2.0/24", b.address, True), ("host-route", FAR, "192.168.80.209", False))
    lost = there_and_back(cluster, a, b)
    most = max(lost.pop("0ac4ae1 restarts"), lost.pop("today's restarts"))
    command.expect(max(lost.values()) <= most, f"more than the {most} of a version's own restart: {lost}")
    a.down()
    expect_nothing_set_aside(a, "after 0ac4ae1")
    a.find = today
    code, text = a.reset()
    command.expect(code == 0 and f"gave back route 10.244.2.0/24 via {b.address}\n" in text, f"reset: {code}, {text}")
    command.expect_equal(routes(a), {"10.244.2.0/24": (b.address, "eth0")}, "routes after today's reset")
    command.expect_equal(a.host.show("-4", "route", "show", "proto", footprint.MARK), [], "routes of ours after today's reset")


@weft_only
@nightly
def test_vxlan(cluster):
    """A tunnel of ours ends with its process: what is lost is what a restart loses. The former program removes what today's has made."""
    a, b = pair(cluster, former, VXLAN)
    start(cluster, a, b)
    lost = there_and_back(cluster, a, b)
    most = max(lost["0ac4ae1 restarts"], lost["today's restarts"])
    for way in ("to today's", "to 0ac4ae1"):
        best = min(lost[f"{way}, turn 1"], lost[f"{way}, turn 2"])  # the machine may be busy in one
        command.expect(best <= 2 * most, f"{best} pings lost {way}, {most} by a version's own restart")
    a.restart(today)
    expect_talk(cluster, "today's is the last")
    a.wait_listed(MASQUERADE)
    a.down()
    expect_nothing_set_aside(a, "after today's")
    a.find = former
    code, text = a.reset()
    command.expect(code == 0 and "deleted table inet weft of nftables\n" in text, f"reset: {code}, {text}")
    command.expect("weft" not in a.host.run("nft", "list", "tables"), "the table of --ip-masq is left")


@weft_only
@nightly
def test_journal(cluster):
    """Each version starts while the API server is away, with the journal of the other one: the tunnel works, and nothing is confirmed."""
    a, b = pair(cluster, former, VXLAN)
    start(cluster, a, b)
    for find, what in ((today, "today's with the journal of 0ac4ae1"), (former, "0ac4ae1 with today's journal"), (today, "today's once more")):
        a.down()
        command.expect('"node":"b"' in a.state()["journal.json"], f"{what}: the journal lacks b: {a.state()}")
        cut = Cut(a, "refuse")
        a.find = find
        a.spawn()
        expect_talk(cluster, what)
        code, text = a.health("/readyz")
        command.expect(code == 503 and "leases of the journal" in text, f"{what}: readyz {code}, {text}")
        cut.mend()
        a.wait_ready()
        cluster.settle(what)
        expect_trusted(a, what)


@weft_only
@nightly
def test_hns(cluster):
    """Neither version changes anything in HNS that the other one made, and either knows that it is weft's."""
    a = cluster.add("a", kind=HnsVersions)
    cluster.bystander("far", FAR)
    a.restart(former)
    listed, objects, published = a.listed(), a.objects(), cluster.published("a")
    command.expect(any(kind == "hns-network" and not adopted for kind, _, _, adopted in listed), f"the ledger lists {listed}")
    for find, what in ((today, "today's"), (former, "0ac4ae1"), (today, "today's once more")):
        a.restart(find)
        expect_trusted(a, what)
        command.expect_equal(modifying(a), {}, f"calls of {what} that change HNS")
        command.expect_equal(a.objects(), objects, f"what HNS has: {what}")
        command.expect_equal(cluster.published("a"), published, f"annotations: {what}")
        command.expect(listed <= a.listed(), f"{what}: the ledger lists {a.listed()}, before {listed}")
    a.down()
    expect_nothing_set_aside(a, "after today's")
    code, text = a.reset()
    command.expect_equal((code, a.objects()), (0, ([], [])), f"HNS after a reset: {text}")


# ---- Today's and a later one


def become_later(a):
    """a ends, and leaves the files of a later version. What today's wrote, and what there is now."""
    a.wait_listed()
    a.down()
    own = a.state()
    command.expect_equal(sorted(own), ["journal.json", "ledger.json"], "files of today's")
    for name, text in own.items():
        for word, other in ((r'("version": ?)1\b', r"\g<1>9"), (r"\bweft/(\w+)/v1\b", r"weft/\1/v9"), ('"entries"', '"rows"'), ('"own"', '"self"')):
            text = re.sub(word, other, text)
        command.expect(re.search(r'"version": ?9\b', text), f"{name} has no version: {text[:200]}")
        a.write_state({name: text})
    return own, a.state()


def expect_left(a, later, what):
    command.expect_equal(a.state(), later, f"files of the later version {what}")


def expect_named(a, later):
    """The condition of each file says which version it has."""
    def unnamed():
        found = a.conditions().values()
        return [name for name in later if not any(f"{a.path('state')}/{name}" in each and "has version 9" in each for each in found)]

    command.wait_until(lambda: not unnamed(), lambda: f"no condition of {unnamed()}: {a.conditions()}", timeout=10)
    shown = a.flannelctl("status", check=False)
    command.expect(all(f"{a.path('state')}/{name}" in shown for name in later), f"status names not all of {sorted(later)}: {shown}")


def expect_not_reset(a, later):
    for words in ((), ("--all", f"--subnet-file={a.flags['subnet-file']}", "--source-vip-store=none")):
        code, text = a.reset(*words)
        command.expect(code == 2 and a.path("state") in text and "a later weft wrote it" in text, f"reset {' '.join(words)}: {code}, {text}")
        expect_left(a, later, f"after reset {' '.join(words)}")
    command.expect(a.subnet_env(), "reset has deleted subnet.env")


def as_older(a, later):
    """a runs, as the older program: it names the files, and whatever it does and however it ends, they stay."""
    expect_named(a, later)
    expect_left(a, later, "while it runs")
    for how in (signal.SIGKILL, signal.SIGTERM):
        a.down(how)
        expect_left(a, later, f"after {how.name}")
        a.up()
    expect_named(a, later)


def as_later_again(a, own):
    """a has ended. The later program is back, played by today's with its own files."""
    a.write_state(own)
    listed = a.listed()
    a.up()
    expect_trusted(a, "of its own files")
    command.expect(listed <= a.listed(), f"the ledger lists {a.listed()}, before {listed}")


def join_late(cluster, a):
    """A lease that comes while the older program runs, which has neither ledger nor journal to write it into."""
    cluster.bystander("late", "10.244.10.0/24", **({"backend_type": "host-gw", "backend_data": "null"} if a.net_conf["Backend"] == HOST_GW else {}))
    command.wait_until(lambda: a.leases().get("late", {}).get("ipv4", {}).get("usable"), lambda: f"a has {a.leases()}", timeout=10)


@weft_only
def test_later_vxlan(cluster):
    """Traffic as without the files, which stay byte for byte; only reset refuses."""
    a, b = pair(cluster, today, VXLAN)
    start(cluster, a, b)
    own, later = become_later(a)
    a.up()
    cluster.settle("beside the files of a later version")
    join_late(cluster, a)
    cluster.full_size(a, b, size=MIB)
    as_older(a, later)
    cluster.settle("killed and ended beside them")
    a.down()
    expect_not_reset(a, later)
    as_later_again(a, own)
    cluster.settle("the later version is back")
    a.down()
    expect_nothing_set_aside(a, "of the later version")
    code, text = a.reset()
    command.expect(code == 0 and "deleted table inet weft of nftables\n" in text, f"reset: {code}, {text}")


@weft_only
@nightly
def test_later_host_gw(cluster):
    """No ping is lost that a restart with its own files does not lose; what a route of ours has replaced is given back in the end."""
    a, b = pair(cluster, today, HOST_GW)
    a.host.ip(f"route add 10.244.2.0/24 via {b.address} dev eth0")  # as upstream leaves it
    start(cluster, a, b)
    a.wait_listed(MASQUERADE, ("former-route", "10.244.2.0/24", b.address, True))
    most = lost_while(a, b, a.restart)
    files = []

    def step_back():
        files.extend(become_later(a))
        a.up()

    lost = lost_while(a, b, step_back)
    command.expect(lost <= most, f"{lost} pings lost beside the files of a later version, {most} with its own")
    own, later = files
    join_late(cluster, a)
    as_older(a, later)
    expect_talk(cluster, "beside the files of a later version")
    a.down()
    expect_not_reset(a, later)
    command.expect({"10.244.2.0/24", FAR} <= set(routes(a)), f"routes after refused resets: {routes(a)}")
    as_later_again(a, own)
    expect_talk(cluster, "the later version is back")
    a.down()
    code, text = a.reset()
    command.expect(code == 0 and f"gave back route 10.244.2.0/24 via {b.address}\n" in text, f"reset: {code}, {text}")
    command.expect_equal(routes(a), {"10.244.2.0/24": (b.address, "eth0")}, "routes after the reset")


@weft_only
def test_later_hns(cluster):
    """The network is used as it is, without a call that changes HNS; the later program still knows that it is weft's."""
    a = cluster.add("a", kind=HnsVersions)
    cluster.bystander("far", FAR)
    a.up()
    own, later = become_later(a)
    objects, calls = a.objects(), modifying(a)
    a.up()
    as_older(a, later)
    command.expect_equal((modifying(a), a.objects()), (calls, objects), "calls that change HNS, and what it has")
    a.down()
    expect_not_reset(a, later)
    command.expect_equal(a.objects(), objects, "what HNS has after refused resets")
    as_later_again(a, own)
    command.expect_equal(modifying(a), calls, "calls that change HNS")
    a.down()
    code, text = a.reset()
    command.expect_equal((code, a.objects()), (0, ([], [])), f"HNS after a reset: {text}")
