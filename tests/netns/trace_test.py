"""flanneld --trace: every packet, with the reason of its drop, read by tshark and by flannelctl explain."""

from lab import command, frames_node, node, topology, traffic


def rows(path, *fields, display_filter="frame", check=True):
    """Without `check` while flanneld writes: the last block may not be whole yet."""
    words = [word for field in fields for word in ("-e", field)]
    return [line.split("|") for line in
            command.run("tshark", "-r", path, "-T", "fields", "-E", "separator=|", "-Y", display_filter, *words, check=check).splitlines()]


def test_packets_and_drops():
    with topology.pair(node.WeftNode, node.KernelNode, without_ipv6=True) as lab:
        a, b = lab.nodes
        path = a.path("trace.pcapng")
        lab.up(trace=path)
        traffic.ping(a.pod, b.pod_ip, count=5)
        a.host.ip(f"route add 10.244.99.0/24 dev {node.DEVICE}")
        command.expect(traffic.ping_fails(a.pod, "10.244.99.9"), "nobody has 10.244.99.9")
        traffic.tcp(b.pod, a.pod, a.pod_ip, size=1 << 20)
        sent = {each["name"]: each["packets"] for each in a.tunnel()["toWire"]["packets"] if each["packets"]}
        drops = 'frame.comment contains "no-route"'
        command.wait_until(lambda: len(rows(path, "frame.number", display_filter=drops, check=False)) == sent["no-route"],
                           lambda: f"{rows(path, 'frame.comment')[-5:]} of {sent}")
        comments = {each[0] for each in rows(path, "frame.comment", display_filter="ip.dst == 10.244.99.9")}
        command.expect_equal(comments, {"dropped, no-route: no lease covers the destination"}, "comments of drops")
        for way, number in (("request", 8), ("reply", 0)):
            # On its way in and out: at the pods' device and on the wire.
            found = rows(path, "frame.interface_name", display_filter=f"icmp.type == {number} && ip.addr == {b.pod_ip}")
            command.expect_equal(sorted(each[0] for each in found), ["UDP port 4789"] * 5 + [node.DEVICE] * 5, f"echo {way}")
        command.expect_equal(rows(path, "frame.number", display_filter="_ws.malformed"), [], "malformed frames")
        explained = a.host.run(lab.program("flannelctl"), "explain", f"--capture={path}", "--frame=1", f"--admin={a.path('admin.sock')}", check=False)
        command.expect("Verdict" in explained, explained)


def test_frames_of_pods():
    with topology.pair(frames_node.PcapNode, node.KernelNode, without_ipv6=True) as lab:
        a, b = lab.nodes
        path = a.path("trace.pcapng")
        lab.up(trace=path)
        traffic.ping(a.pod, b.pod_ip)
        requests = f"icmp.type == 8 && ip.dst == {b.pod_ip}"
        command.wait_until(lambda: rows(path, "frame.number", display_filter=requests, check=False), "no echo request")


def test_that_cannot_be_written():
    with topology.pair(node.WeftNode, node.KernelNode) as lab:
        a, b = lab.nodes
        lab.up(trace="/nowhere/trace")
        traffic.ping(a.pod, b.pod_ip)
        found = [each.get("condition") for each in a.status()["conditions"] if each["subject"] == "trace"]
        command.expect_equal(found, ["the trace /nowhere/trace cannot be written: No such file or directory; check the path and the free space"],
                             "conditions")
