"""The machine's name servers are no part of a lab."""

import tempfile

from lab import command, namespace, node, topology, traffic


def test_in_a_wide_network():
    """One lies in b's subnet; a would rightly not use that lease."""
    namespace.hide_name_servers()  # what is planted below does not reach the machine
    with tempfile.NamedTemporaryFile("w", prefix="weft-resolv-") as planted:
        planted.write("nameserver 172.20.2.53\n")
        planted.flush()
        command.run("mount", "--bind", planted.name, namespace.RESOLV_CONF)
        try:
            with topology.pair(node.WeftNode, node.KernelNode, network="172.20.0.0/14") as lab:
                lab.up()
                a, b = lab.nodes
                command.expect_equal(str(b.lease.subnet), "172.20.2.0/24", "b's subnet")
                traffic.ping(a.pod, b.pod_ip)
        finally:
            command.run("umount", namespace.RESOLV_CONF)  # the file below is a mount point
