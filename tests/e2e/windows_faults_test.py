"""Our flanneld.exe among faults of HNS, its own end and the machine's, at every call of a start and of a peer's coming: generated."""

import json
import signal

from lab import command

from cluster import member, windows
from cluster.cluster import nightly

FOREIGN = {
    "id": "33334444-5555-6666-7777-888899990000", "name": "vxlan0", "type": "Overlay", "flags": 0, "dns": {}, "dr_mac": "00-15-5D-AA-BB-CC",
    "mac_block": "00-15-5D-AA-B", "adapter": "eth0", "adapter_named": True, "management_from_ms": 0, "endpoints_made": 1,
    "ipams": [{"Type": "Static", "Subnets": [{"IpAddressPrefix": "10.9.0.0/24", "Policies": [{"Type": "VSID", "Settings": {"IsolationId": 5000}}],
                                              "Routes": [{"NextHop": "10.9.0.1", "DestinationPrefix": "0.0.0.0/0"}]}]}],
    "policies": [{"Type": "HostRoute", "Settings": {}},
                 {"Type": "RemoteSubnetRoute", "Settings": {"DestinationPrefix": "10.244.2.0/24", "IsolationId": 5000, "ProviderAddress": "192.168.80.9",
                                                            "DistributedRouterMacAddress": "0e:2a:00:00:00:09"}}]}
FOREIGN_POD = {"id": "33334444-5555-6666-7777-888899990001", "name": "their pod", "network": FOREIGN["id"], "mac": "00-15-5D-AA-B0-01", "flags": 0,
               "addresses": [{"ip": "10.9.0.5", "prefix_length": 24}], "namespace": "00000000-0000-0000-0000-000000000000", "policies": []}

UNSPECIFIED, RPC_CALL_FAILED, ELEMENT_NOT_FOUND = "0x80004005", "0x800706BE", "0x80070490"
HELD = 3000  # milliseconds that a held call waits: longer than any test observes


class Scene:
    """Node a, ours; HNS has a foreign network and pod, too. `begin` makes flanneld.exe call HNS."""

    def __init__(self, cluster):
        self.cluster = cluster
        self.a = cluster.add("a", kind=windows.Weft)
        self.a.flags |= {"healthz-ip": "127.0.0.1", "healthz-port": member.HEALTH}
        b = cluster.add("b")
        b.spawn()
        b.wait_ready()
        state = self.a.hns("dump")
        state["networks"].append(FOREIGN)
        self.a.hns("load", f"state={json.dumps(state)}")
        self.return_pod()
        self.foreign = self.foreign_now()
        self.begin = self.a.spawn

    def return_pod(self):
        """No endpoint outlives a reboot: its owner makes it again."""
        state = self.a.hns("dump")
        state["endpoints"] = [FOREIGN_POD]
        self.a.hns("load", f"state={json.dumps(state)}")

    def foreign_now(self):
        state = self.a.hns("dump")
        return json.dumps([[each for each in state["networks"] if each["name"] == FOREIGN["name"]], state["endpoints"]], sort_keys=True)

    # ---- The state before a case, and the event

    def on_empty_hns(self):
        self.a.down()
        self.a.hns("restart", "networks=persistent-kept", "endpoints_kept=true")
        self.begin = self.a.spawn

    def on_its_network(self):
        self.a.down()
        self.begin = self.a.spawn

    def with_a_new_peer(self):
        if self.far():
            self.cluster.api.delete_node("far")
            self.expect_well("far is deleted")
        self.begin = lambda: self.cluster.bystander("far", "10.244.9.0/24")

    def far(self):
        return any(each["metadata"]["name"] == "far" for each in self.cluster.api.nodes())

    # ---- Calls

    def calls(self):
        return self.a.hns("calls")["total"]

    def fault(self, step, **fields):
        fields = {"function": "*", "first": step} | fields
        self.a.hns("fault", *(f"{key}={value}" for key, value in fields.items()))

    def begin_and_hold(self, step, **fields):
        """Until the call `step` from now on is under way."""
        number = self.calls() + step
        self.fault(step, **{"delay_ms": HELD} | fields)
        self.begin()
        self.reach(number)
        if self.begin == self.a.spawn and self.ready():
            command.expect_equal(self.cluster.differences(self.a), [], f"ready at call {step}, before the routes are there")

    def reach(self, number):
        """Until that call; or until all is done, when this needed fewer calls than were counted (the count may hold those of a poll)."""
        def there():
            self.a.daemon.expect_running()
            return self.calls() >= number or self.ready() and not self.cluster.differences(self.a)

        command.wait_until(there, lambda: f"call {number} is not made: {self.calls()}, {self.a.last_words()}", timeout=40)

    def wait_for_call(self, number):
        def there():
            self.a.daemon.expect_running()
            return self.calls() >= number

        command.wait_until(there, lambda: f"{number} calls are not made: {self.calls()}, {self.a.last_words()}", timeout=40)

    # ---- Judging

    def ready(self):
        return self.a.health("/readyz")[0] == 200

    def expect_well(self, what):
        """All is as desired, foreign objects are unchanged, and /readyz is 200; the first process still runs."""
        began = self.a.daemon
        self.cluster.settle(what, with_traffic=False)
        command.wait_until(self.ready, lambda: f"{what}: not ready: {self.a.health('/readyz')}; {self.a.last_words()}", timeout=30)
        began.expect_running()
        command.expect_equal(self.foreign_now(), self.foreign, f"{what}: what is another's")
        ours = [each["name"] for each in self.a.hns("dump")["networks"] if each["name"] != FOREIGN["name"]]
        command.expect_equal(ours, [windows.NETWORK], f"{what}: networks")
        command.expect_equal(len(self.a.policies("HostRoute")), 1, f"{what}: HostRoute policies")
        command.expect_equal(len(self.a.policies("RemoteSubnetRoute")), len(self.a.table()), f"{what}: routes, each once")
        command.expect_equal(self.a.hns("handles")["misuses"], 0, f"{what}: handles that were used wrongly")


# ---- What happens at a call


def fails(code, count):
    def case(scene, step):
        number = scene.calls() + step
        scene.fault(step, count=count, code=code)
        scene.begin()
        scene.reach(number)

    return f"fails, {count} in a row: {code}", case


def fails_always(scene, step):
    """Until the test removes the fault."""
    number = scene.calls() + step
    scene.fault(step, count="always", code=RPC_CALL_FAILED)
    scene.begin()
    scene.reach(number + 2)
    scene.a.hns("clear-faults")


def killed(scene, step):
    scene.begin_and_hold(step, code=RPC_CALL_FAILED)
    scene.a.down(signal.SIGKILL)
    scene.a.spawn()


def reboot(scene, step):
    scene.begin_and_hold(step, code=RPC_CALL_FAILED)
    scene.a.down(signal.SIGKILL)
    scene.a.hns("reboot")
    scene.return_pod()
    scene.a.spawn()


def restarts(networks):
    def case(scene, step):
        scene.begin_and_hold(step, delay_ms=1000)
        scene.a.hns("restart", f"networks={networks}", "endpoints_kept=true")

    return f"HNS restarts, networks {networks}", case


def stops(scene, step):
    scene.begin_and_hold(step, delay_ms=1000)
    scene.a.hns("stop")
    before = scene.calls()
    scene.wait_for_call(before + 3)
    # The round that met it may make its next call before it reports it.
    command.wait_until(lambda: not scene.ready(), lambda: f"ready while HNS is stopped: {scene.a.last_words()}", timeout=5)
    scene.a.hns("start", "endpoints_kept=true")


KINDS = [fails(UNSPECIFIED, 1), ("killed", killed), restarts("kept"), fails(ELEMENT_NOT_FOUND, 2), ("reboot", reboot),
         restarts("persistent-kept"), ("fails until mended", fails_always), ("HNS stops for a while", stops)]
SCENES = [Scene.on_empty_hns, Scene.on_its_network, Scene.with_a_new_peer]


@nightly
def test_at_every_call(cluster):
    """Two faults at each call of a start and of an added peer, other ones at the next call."""
    scene = Scene(cluster)
    done = []
    for prepare in SCENES:
        place = prepare.__name__.replace("_", " ")
        prepare(scene)
        before = scene.calls()
        scene.begin()
        scene.expect_well(f"{place}, without a fault")
        steps = scene.calls() - before
        command.expect(steps > 0, f"{place}: HNS was not called, so nothing could go wrong")
        for step in range(1, steps + 1):
            for name, case in (KINDS[step % len(KINDS)], KINDS[(step + 5) % len(KINDS)]):
                prepare(scene)
                case(scene, step)
                scene.expect_well(f"{place}, call {step} of {steps}: {name}")
                scene.a.hns("clear-faults")
                done.append(name)
    command.expect_equal(set(done), {name for name, _ in KINDS}, "what went wrong at some call")
    cluster.say(f"{len(done)} cases")
