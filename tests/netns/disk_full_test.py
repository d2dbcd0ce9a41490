"""No room on the disk of logs, state folder and subnet.env: packets flow, what cannot be written is reported, and is written once there is room."""

import contextlib
import errno
import os
import signal

from lab import command, node, topology, traffic


@contextlib.contextmanager
def small_disk(folder):
    os.makedirs(folder)
    command.run("mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", folder)
    try:
        yield
    finally:
        command.run("umount", "--lazy", folder)


def fill(path):
    with open(path, "wb", buffering=0) as file:
        try:
            while True:
                file.write(bytes(4096))
        except OSError as error:
            command.expect_equal(error.errno, errno.ENOSPC, "the error of a full disk")


def conditions(a):
    """{name: text} of those that last."""
    return {each["subject"]: each["condition"] for each in a.status()["conditions"] if each.get("condition")}


def expect_conditions(a, *names):
    command.wait_until(lambda: set(names) <= set(conditions(a)), lambda: f"no condition of {names}: {conditions(a)}", timeout=30)
    for name in names:
        for words in ("No space left on device", "make room on that disk"):
            command.expect(words in conditions(a)[name], f"{name}: {conditions(a)}")


def test_no_room():
    leases = topology.leases("abc")
    with topology.pair(node.WeftNode, node.KernelNode, without_ipv6=True) as lab:
        a, b = lab.nodes
        disk = a.path("disk")
        with small_disk(disk):
            flags = {"state_dir": f"{disk}/state", "log_dir": f"{disk}/log", "subnet_file": f"{disk}/subnet.env"}
            lab.up(**flags)
            command.wait_until(lambda: os.path.exists(f"{disk}/state/journal.json"), "no journal")
            fill(f"{disk}/fill")
            a.use(leases)  # a peer more: the journal has to be written
            os.remove(f"{disk}/subnet.env")
            fill(f"{disk}/more")
            expect_conditions(a, "journal", "subnet-file")
            traffic.ping(a.pod, b.pod_ip)
            command.expect_equal(a.health("/healthz")[0], 200, "healthz on a full disk")

            for _ in range(5):  # until the last block of the log file is full, too
                a.down(signal.SIGKILL)
                a.spawn(**flags)
                command.wait_until(lambda: a.health("/healthz")[0] == 200, lambda: f"no start on a full disk: {a.last_words()}", timeout=15)
                command.wait_until(lambda: a.pod.run("ping", "-n", "-c", "1", "-W", "1", b.pod_ip, check=False).find(" 0% packet loss") > 0,
                                   "no ping after a start on a full disk", timeout=15)
                if "log" in conditions(a):
                    break
            expect_conditions(a, "log", "subnet-file")

            os.remove(f"{disk}/fill")
            os.remove(f"{disk}/more")
            command.wait_until(lambda: a.health("/readyz")[0] == 200 and not conditions(a), lambda: f"with room again: {a.status()}", timeout=90)
            with open(f"{disk}/subnet.env", encoding="utf-8") as file:
                command.expect("FLANNEL_SUBNET=10.244.1.1/24" in file.read(), "subnet.env was not written again")
            command.wait_until(lambda: leases[2].public_ip in read(f"{disk}/state/journal.json"), "the journal has no new lease", timeout=30)
            a.down()


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()
