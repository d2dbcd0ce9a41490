"""Several API servers of one cluster; certificates, clock and network of a node that change: the leases of a equal the server's again."""

import os
import time

from lab import command, lease

from cluster import certificates
from cluster.cluster import nightly, weft_only

FAKETIME = "/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1"


@weft_only
def test_two_servers(cluster):
    """The one in use crashes and the other takes over, back and forth; Nodes change while one of them is away and while both are."""
    control = cluster.control
    with control.second() as second:
        a, b = cluster.add("a"), cluster.add("b")
        a.flags["kube-api-url"] = f"{control.url},{second.url}"
        cluster.start(a, b)
        command.expect_equal(a.servers_in_use(), [control.url], "the server in use at first")
        for turn, (stop, start, api, url, before) in enumerate((
                (control.stop_apiserver, cluster.site.start_apiserver, second.api, second.url, control.url),
                (second.stop, second.start, control.api, control.url, second.url)) * 2):
            stop()
            began = time.monotonic()
            cluster.api = api
            cluster.bystander(f"far-{turn}", f"10.244.{10 + turn}.0/24")
            if turn:
                api.delete_node(f"far-{turn - 1}")
            cluster.settle(f"{before} has crashed", timeout=40, since=began, of=a)
            command.expect_equal(a.servers_in_use(), [url], f"the server in use without {before}")
            text = a.servers()[before]["text"]
            command.expect("failed: " in text, f"{before}: {text}")
            command.expect(f"{url} (" in a.health("/readyz?verbose")[1], "/readyz does not name the server in use")
            start()
        command.expect_equal(a.servers_in_use(), [control.url], "the server in use: it works, although the other one is back")
        cluster.api = control.api
        control.stop_apiserver()
        second.stop()
        time.sleep(12)
        second.start()
        cluster.api = second.api
        cluster.bystander("far-both", "10.244.20.0/24")
        cluster.settle("both were away", timeout=60, of=a)
        command.expect(f"{second.url} (" in a.log_text() and "is used from now on" in a.log_text(), "no line in the log")
        cluster.site.start_apiserver()
        cluster.api = control.api
        cluster.settle("both are back", timeout=40, of=a)


@weft_only
def test_server_certificate_rotated(cluster):
    """Another authority signs the server's certificate; a's CA file has that one a little later. Reported until then."""
    control = cluster.control
    a, b = cluster.add("a"), cluster.add("b")
    own = a.path("ca.crt")
    with open(control.path("ca.crt"), encoding="utf-8") as file:
        first = file.read()
    lease.write_text(own, first)
    a.write_kubeconfig({"token": a.token}, **{"certificate-authority": own})
    cluster.start(a, b)
    other = certificates.Authority(control.folder, "rotated")
    other.sign("rotated-server", "/CN=kube-apiserver", f"subjectAltName=DNS:kubernetes,IP:127.0.0.1,IP:{control.address}")
    control.tls.load_verify_locations(other.path("rotated.crt"))
    cluster.site.restart_apiserver(f"--tls-cert-file={control.path('rotated-server.crt')}",
                                   f"--tls-private-key-file={control.path('rotated-server.key')}")
    cluster.bystander("far", "10.244.9.0/24")
    command.wait_until(lambda: "cannot be verified with the CA file" in a.flannelctl("status", check=False), "a reports the certificate", timeout=40)
    with open(other.path("rotated.crt"), encoding="utf-8") as file:
        lease.write_text(own, first + file.read())
    cluster.settle("a has the new CA", timeout=40, of=a)


@weft_only
def test_clock_jumps(cluster):
    """The daemon's wall clock jumps (libfaketime, of this process alone): far ahead, so that certificates have expired, to the past, and back."""
    command.expect(os.path.exists(FAKETIME), f"{FAKETIME} is missing: cmake/bootstrap.sh peers")
    a, b = cluster.add("a"), cluster.add("b")
    offset = a.path("offset")
    lease.write_text(offset, "+0\n")
    a.environment |= {"LD_PRELOAD": FAKETIME, "FAKETIME_TIMESTAMP_FILE": offset, "FAKETIME_NO_CACHE": "1", "FAKETIME_DONT_FAKE_MONOTONIC": "1"}
    cluster.start(a, b)
    # libfaketime also moves absolute timers of the monotonic clock, so the past begins at the machine's start.
    with open("/proc/uptime", encoding="utf-8") as file:
        uptime = int(float(file.read().split()[0]))
    for turn, (jump, says) in enumerate((("+3650d", "has expired on"), (f"-{uptime - 30}", "is not valid before"))):
        lease.write_text(offset, jump + "\n")
        cluster.site.restart_apiserver()  # the watch ends, and a connects again
        cluster.bystander(f"far-{turn}", f"10.244.{10 + turn}.0/24")
        def shown():
            text = a.flannelctl("status", check=False)
            return says in text and "clock" in text
        command.wait_until(shown, lambda: f"{jump}: status of a: {a.flannelctl('status', check=False)}", timeout=40)
        command.expect_equal(a.health("/healthz")[0], 200, f"healthz with the clock at {jump}")
        lease.write_text(offset, "+0\n")
        cluster.settle(f"the clock was at {jump}", timeout=40, of=a)
    lease.write_text(offset, "+1h\n")
    cluster.bystander("far-2", "10.244.12.0/24")
    cluster.settle("the clock is an hour ahead", timeout=40, of=a)


@weft_only
@nightly
def test_half_a_minute_without_network(cluster):
    """a's cable is out for 30 s while Nodes change."""
    a, _ = cluster.pair()
    cluster.bystander("old", "10.244.8.0/24")
    cluster.settle("old joins", with_traffic=False, of=a)
    cluster.site.fabric.ip("link set to-a down")
    cluster.api.delete_node("old")
    cluster.bystander("new", "10.244.10.0/24")
    time.sleep(30)
    command.expect("10.244.8.0/24" in a.routes(), f"routes of a without the network: {a.routes()}")
    cluster.site.fabric.ip("link set to-a up")
    cluster.settle("the network is back", timeout=90, of=a)
