"""/metrics of a real flanneld: what Prometheus reads equals `flannelctl status` and the kernel's counts."""

import ipaddress
import itertools
import os
import re
import socket
import time

from lab import command, lease, node, peers, topology, traffic

SAMPLE = re.compile(r'^([a-z_]+)(?:\{(.*)\})? (\S+)$')


def scrape(of):
    """{(name, labels...): value}"""
    status, body = of.health("/metrics")
    command.expect_equal(status, 200, f"/metrics of {of.name}: {body[:200]}")
    samples = {}
    for line in body.splitlines():
        if line.startswith("#"):
            continue
        found = SAMPLE.match(line)
        command.expect(found, f"not a sample: {line}")
        labels = tuple(sorted(re.findall(r'([a-z]+)="([^"]*)"', found[2] or "")))
        key = (found[1], *labels)
        command.expect(key not in samples, f"twice: {line}")
        samples[key] = float(found[3])
    return samples


def total(samples, name, **labels):
    return sum(value for (its_name, *its), value in samples.items() if its_name == name and set(labels.items()) <= set(its))


def moved(samples, direction):
    """Packets that the tunnel of IPv4 took: forwarded and dropped."""
    return sum(total(samples, name, family="ipv4", dir=direction) for name in ("weft_encap_packets_total", "weft_drop_packets_total"))


def kernel(host):
    stats = {way: int(host.run("cat", f"/sys/class/net/{node.DEVICE}/statistics/{way}_packets")) for way in ("tx", "rx")}
    return stats["tx"], stats["rx"]


def scrape_at_rest(of):
    """A scrape, and the kernel's counts at the same time: repeated while other packets (IGMP, neighbour discovery) come between."""
    while True:
        device = kernel(of.host)
        time.sleep(0.2)  # /metrics is rendered at most every 100 ms
        samples = scrape(of)
        if kernel(of.host) == device:
            return samples, device


def test_values():
    """Pings, a drop, and a tunnel that is made again: equal to status and kernel, and never less than before."""
    with topology.pair(node.WeftNode, node.KernelNode) as lab:
        lab.up()
        a, b = lab.nodes
        before, device = scrape_at_rest(a)
        for _ in range(5):
            traffic.ping(a.pod, b.pod_ip)
        a.pod.run("ping", "-c", "3", "-i", "0.2", "-W", "1", "10.244.77.1", check=False)  # nobody's subnet
        after, now = scrape_at_rest(a)
        status = a.status()
        command.expect_equal(moved(after, "to-wire") - moved(before, "to-wire"), now[0] - device[0], "packets from the kernel's device")
        forwarded = [total(each, "weft_encap_packets_total", family="ipv4", dir="to-pods") for each in (before, after)]
        command.expect_equal(forwarded[1] - forwarded[0], now[1] - device[1], "packets into the kernel's device")
        command.expect(forwarded[1] - forwarded[0] >= 5, "no packets were counted")
        tunnel = a.tunnel()
        for way, direction in (("toWire", "to-wire"), ("toPods", "to-pods")):
            counts = {each["name"]: each["packets"] for each in tunnel[way]["packets"]}
            shown = {dict(labels)["reason"]: value for (name, *labels), value in scrape(a).items()
                     if name == "weft_drop_packets_total" and ("dir", direction) in labels}
            shown["forward"] = total(after, "weft_encap_packets_total", family="ipv4", dir=direction)
            command.expect_equal(shown, counts, f"packets {way}")
            command.expect_equal(total(after, "weft_encap_bytes_total", dir=direction), tunnel[way]["bytes"], f"bytes {way}")
        for each in status["leases"]:
            command.expect_equal(total(after, "weft_leases", state=each["state"]), each["count"], f"leases {each['state']}")
        for word in ("desired", "applied"):
            command.expect_equal(total(after, "weft_routes", state=word), sum(sink[word] for sink in status["sinks"]), f"routes {word}")
        command.expect_equal({dict(labels)["check"]: bool(value) for (name, *labels), value in after.items() if name == "weft_check_ok"},
                             {each["name"]: each["ok"] for each in status["checks"]}, "checks")
        command.expect_equal(total(after, "weft_ready"), 1, "weft_ready")
        age = total(after, "weft_lease_sync_age_seconds")
        command.expect(age >= 0, f"age of the lease file's last reading: {age}")
        command.within(age, 5, "age of the lease file's last reading")
        command.expect(abs(total(after, "process_start_time_seconds") - time.time()) < 60, "start time")

        a.host.ip(f"link delete {node.DEVICE}")
        command.wait_until(lambda: node.DEVICE in a.host.devices() and a.health("/readyz")[0] == 200, "the tunnel is made again", timeout=15)
        last = scrape(a)
        falling = [key for key, value in after.items() if key[0].endswith(("_total", "_bucket", "_sum", "_count")) and last.get(key, -1) < value]
        command.expect_equal(falling, [], "counters that fell when the tunnel was made again")


def test_icmp_errors_name_their_peer():
    """A peer whose flannel is gone: the kernel's count is a metric without the peer's name, which status has."""
    with topology.pair(node.WeftNode, node.KernelNode) as lab:
        lab.up()
        a, b = lab.nodes
        traffic.ping(a.pod, b.pod_ip)
        b.host.ip(f"link delete {node.DEVICE}")

        def errors():
            a.pod.run("ping", "-c", "1", "-W", "1", b.pod_ip, check=False)
            return next(each for each in a.status()["peers"] if each["node"] == "b").get("icmpErrors")
        command.wait_until(errors, "the peer has ICMP errors", timeout=20)
        found = errors()
        command.expect_equal((found["from"], found["type"], found["code"]), (b.lease.public_ip, 3, 3), "the last ICMP error")
        command.expect(found["count"] >= 1 and found["at"], f"count and time: {found}")
        text = a.host.run(lab.program("flannelctl"), "status", "--admin", a.path("admin.sock"), check=False)
        command.expect(f"one from {b.lease.public_ip}" in text and "port unreachable" in text, f"status does not say who: {text}")
        samples = scrape(a)
        refused = total(samples, "weft_kernel_events_total", event="icmp-refused", family="ipv4")
        command.expect(refused >= 1, "the kernel's count is no metric")
        command.expect(not any(b.lease.public_ip in str(key) or ("node", "b") in key for key in samples), "a metric names a peer")

        a.host.ip(f"link delete {node.DEVICE}")
        command.wait_until(lambda: node.DEVICE in a.host.devices() and a.health("/readyz")[0] == 200, "the tunnel is made again", timeout=15)

        def again():
            errors()
            return next((each["value"] for each in a.tunnel()["kernel"] if each["name"] == "icmp-refused"), 0)
        command.wait_until(lambda: again() >= refused, "the new tunnel has as many ICMP errors before the next scrape", timeout=30)
        now = total(scrape(a), "weft_kernel_events_total", event="icmp-refused", family="ipv4")
        command.expect(now >= 2 * refused, f"of both tunnels: {now}, of the first: {refused}")


def test_promtool():
    """Prometheus' own parser and linter have nothing to say."""
    promtool = os.path.join(peers.CACHE, "promtool")
    command.expect(os.access(promtool, os.X_OK), f"{promtool} is missing; run: cmake/bootstrap.sh netns")
    with topology.pair(node.WeftNode, node.KernelNode, ipv6=True) as lab:
        lab.up()
        body = lab.nodes[0].health("/metrics")[1]
        command.expect_equal(command.run(promtool, "check", "metrics", stdin=body), "", "promtool check metrics")


def test_ten_thousand_leases():
    """A scrape costs little, whatever the number of leases, and slow scrapers take nobody's place."""
    subnets = itertools.islice(ipaddress.ip_network("172.16.0.0/12").subnets(new_prefix=26), 40, None)
    with topology.pair(node.WeftNode, node.KernelNode, network="172.16.0.0/12", length=26) as lab:
        a, b = lab.nodes
        a.write_nodes([a.lease.node(), b.lease.node()] + [each.node() for each in lease.crowd(9998, subnets, first_public_ip="100.64.0.1")])
        a.spawn()
        a.wait_ready(60)
        samples = scrape(a)
        command.expect_equal(total(samples, "weft_leases"), 10000, "leases")
        command.expect(len(samples) < 1000, f"{len(samples)} samples")
        held = []
        try:
            for _ in range(300):  # more than flanneld serves at a time
                with a.host.entered():
                    slow = socket.create_connection((a.health_address, a.health_port), timeout=5)
                slow.sendall(b"GET /metrics HTTP/1.1\r\nHost: x\r\n")  # and never ends
                held.append(slow)
            took = {}
            for path in ("/healthz", "/metrics"):
                times = []
                for _ in range(20):
                    time.sleep(0.11)  # an answer is at most 100 ms old
                    began = time.monotonic()
                    command.expect_equal(a.health(path)[0], 200, path)
                    times.append(time.monotonic() - began)
                took[path] = sorted(times)[10]
        finally:
            for each in held:
                each.close()
        print(f"   10,000 leases: /metrics {took['/metrics'] * 1000:.1f} ms, /healthz {took['/healthz'] * 1000:.1f} ms")
        command.within(took["/metrics"] - took["/healthz"], 0.02, "/metrics, longer than /healthz: medians of twenty")
