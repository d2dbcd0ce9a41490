"""A node whose flanneld, the Linux program, has an HNS emulator of its own."""

import json
import subprocess

from lab import command, daemon

from . import member


class HnsNode(member.Weft):
    """--dataplane=hns, on an emulator of its own."""

    def __init__(self, cluster, name):
        super().__init__(cluster, name)
        self.socket = self.path("hns.sock")
        self.flags |= {"dataplane": "hns", "hns": f"emulator:{self.socket}", "source-vip-store": self.path("networks")}
        self.emulate()

    def emulate(self, *words):
        process = self.host.start(self.find("flannelctl"), "hns", "emulate", f"--listen={self.socket}", f"--adapter=eth0={self.address}", *words,
                                  stdout=subprocess.PIPE)
        self.emulator = daemon.Daemon(f"HNS emulator of {self.name}", process)
        command.expect_equal(process.stdout.readline(), f"listening on {self.socket}\n", "the emulator's first line")

    def hns(self, *words):
        return json.loads(self.host.run(self.find("flannelctl"), "hns", "control", self.socket, *words))

    def change_network(self, **members):
        """The only one, in HNS."""
        state = self.hns("dump")
        state["networks"][0] |= members
        self.hns("load", f"state={json.dumps(state)}")

    def router_mac(self):
        networks = self.hns("dump")["networks"]
        return networks[0]["dr_mac"].replace("-", ":").lower() if networks else None

    def wait_for_health(self):
        self.daemon.wait_until_started(self.ready, lambda: f"not ready: {self.last_words()}", 40)

    def ended(self):
        return [*super().ended(), *filter(None, [self.emulator.ended()])]

    def close(self):
        command.add_failures(None, command.failures([self.down, self.emulator.stop, super().close]))
