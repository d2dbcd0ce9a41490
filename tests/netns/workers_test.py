"""Several threads carry a tunnel's packets: flows and pods are divided, and each stays in order."""

import os

from lab import command, node, topology, traffic

MIB = 1 << 20
WORKERS = 4
COUNT = 400  # fits into a TUN device's queue of 500
FLOWS = 128  # of each pod: the kernel's choice of a receiving thread is random for each flow


class ThreadedNode(node.WeftNode):
    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.options["workers"] = str(WORKERS)


def cpu_times(each):
    """{thread: nanoseconds} of all threads but the first, which carries no packets."""
    found = {}
    for task in os.listdir(f"/proc/{each.pid()}/task"):
        if int(task) == each.pid():
            continue
        with open(f"/proc/{each.pid()}/task/{task}/schedstat", encoding="ascii") as file:
            found[task] = int(file.read().split()[0])
    return found


def used_since(each, before):
    """{thread: nanoseconds since `before`}."""
    return {task: time - before.get(task, 0) for task, time in cpu_times(each).items()}


def shares_of(used):
    return {task: time / sum(used.values()) for task, time in used.items()}


def threads_divide(family, **options):
    with topology.pair(ThreadedNode, ThreadedNode, **options) as lab:
        a, b = lab.nodes
        pods = [a.pod] + [a.add_pod(f"pod-{number}", number) for number in (3, 4, 5)]
        lab.up()
        address = b.pod_ip if family == 4 else b.pod_ip6
        device = node.DEVICE if family == 4 else node.DEVICE6
        command.expect_equal(a.tunnel(device)["workers"], WORKERS, "threads")
        for pod in pods:
            traffic.ping(pod, address)
        receiving = dict.fromkeys(cpu_times(b), 0)
        carriers = set()
        for pod in pods:
            sending, before = cpu_times(a), cpu_times(b)
            sent, received = traffic.udp(pod, b.pod, address, size=300, flows=FLOWS, count=COUNT, rate=10000, seed=7, expected=COUNT, idle=5)
            command.expect_equal(received["datagrams"], sent["datagrams"], f"datagrams of {FLOWS} flows from {pod.name}")
            command.expect_equal((received["corrupt"], received["duplicates"]), (0, 0), "corrupt and duplicate datagrams")
            for task, time in used_since(b, before).items():
                receiving[task] += time
            sent, received = traffic.udp(pod, b.pod, address, size=300, count=COUNT, rate=20000, seed=7, expected=COUNT, idle=5)
            command.expect_equal((received["datagrams"], received["late"]), (sent["datagrams"], 0), f"datagrams of one flow from {pod.name}, and late ones")
            shares = shares_of(used_since(a, sending))
            carrier = max(shares, key=shares.get)
            command.expect(shares[carrier] > 0.5, f"one thread of a carries all packets of {pod.name}; the threads' shares: {shares}")
            carriers.add(carrier)
        command.expect_equal(len(carriers), WORKERS, "threads of a that carry the packets of four pods")
        shares = shares_of(receiving)
        # The kernel's hash takes each of some 220 sockets, with all flows that leave through it, to one of four threads. Less than 2 % for one of them
        # comes by chance once in 10^12 runs; a thread without packets uses no time at all.
        busy = sum(share > 0.02 for share in shares.values())
        command.expect(busy == WORKERS, f"flows are divided among the threads of b: {shares}")
        for pod in pods:
            traffic.tcp(pod, b.pod, address, 32 * MIB)
        traffic.tcp(b.pod, a.pod, a.pod_ip if family == 4 else a.pod_ip6, 32 * MIB)
        sums = a.tunnel(device)
        peer = next(each for each in a.status()["peers"] if each["node"] == b.name and each["device"] == device)
        forwarded = {way: sums[way]["packets"][0]["packets"] for way in ("toWire", "toPods")}
        command.expect(peer["sentPackets"] >= forwarded["toWire"] and peer["receivedPackets"] >= forwarded["toPods"],
                       f"the only peer counts {peer}, all peers {forwarded}")


def test_threads_divide_pods_and_flows():
    threads_divide(4)


def test_threads_divide_pods_and_flows_ipv6():
    threads_divide(6, ipv4=False, ipv6=True)


def test_a_kernel_peer():
    with topology.pair(ThreadedNode, node.KernelNode) as lab:
        lab.up()
        a, b = lab.nodes
        traffic.tcp(a.pod, b.pod, b.pod_ip, 64 * MIB)
        traffic.tcp(b.pod, a.pod, a.pod_ip, 64 * MIB)
