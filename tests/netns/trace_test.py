"""flanneld --trace: every packet, with the reason of its drop, read by tshark and by flannelctl explain."""

import os

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
        command.expect_equal(found, ["the trace /nowhere/trace cannot be written: No such file or directory; give another path with --trace"],
                             "conditions")


def test_whose_file_it_is():
    """A new file that nobody else may read; a link, and another user's file, stay as they are, and packets go on."""
    for place in ("new", "link", "foreign"):
        with topology.pair(node.WeftNode, node.KernelNode) as lab:
            a, b = lab.nodes
            path, other = a.path("trace.pcapng"), a.path("other")
            with open(other, "w", encoding="utf-8") as file:
                file.write("theirs")
            if place == "link":
                os.symlink(other, path)
            elif place == "foreign":
                os.rename(other, path)
                os.chown(path, 12345, 12345)
                other = path
            lab.up(trace=path)
            traffic.ping(a.pod, b.pod_ip)
            if place == "new":
                command.expect_equal(oct(os.stat(path).st_mode & 0o7777), "0o600", "mode")
                continue
            with open(other, encoding="utf-8") as file:
                command.expect_equal(file.read(), "theirs", f"{place}: the other file")
            conditions = [each.get("condition") for each in a.status()["conditions"] if each["subject"] == "trace"]
            command.expect(conditions and "cannot be written: it is a" in conditions[0], f"{place}: {conditions}")
