"""Finds the tests (functions test_* of *_test.py in this folder) and runs them, two at a time: they mostly wait."""

import argparse
import inspect
import itertools
import multiprocessing
import multiprocessing.connection
import os
import signal
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

from lab import cases, command, namespace, topology  # noqa: E402


ALONE = ("fairness.",)  # what measures delays

# The gate runs these in release alone, --nightly under sanitizers, too: there they repeat what release and the other tests find (policy, files,
# rules, delays), or assert nothing (sizes of memory). A test, or a file.
UNSANITIZED = (
    "bad_input.peer_check_off", "bad_input.peer_check_strict", "bad_input.peers_that_send_from_elsewhere", "capture.selects_by_peer_pod_and_filter",
    "capture.which_tunnel", "churn.memory_of_ten_thousand_leases", "churn.memory_without_packets", "disk_full", "fairness.a_pod_of_the_same_queue_is_served",
    "fairness.other_pods_are_served", "fairness.other_pods_are_served_over_ipv6", "footprint", "foreign_routes.flushed_routes",
    "foreign_routes.upstreams_route_is_restored", "forgery.during_traffic", "forwarding.network_172_20_slash_14", "forwarding.source_port_entropy",
    "forwarding.subnets_slash_26", "host_routes.host_gw", "host_routes.host_gw_ipv6", "host_routes.host_gw_lost_routes",
    "host_routes.host_gw_own_address_changes", "host_routes.host_gw_peer_behind_a_router", "host_routes.host_gw_refuses_nat", "host_routes.host_gw_reset",
    "lab", "leases.a_network_is_widened_node_by_node", "leases.a_pod_cidr_around_peers_behind_a_router", "leases.claims_before_the_start",
    "leases.fifty_nodes_inside_network", "leases.one_nodes_claims", "lifecycle.device", "lifecycle.idle", "lifecycle.path_of_configuration", "lifecycle.subnet_env",
    "lifecycle.subnet_env_dual_stack", "lifecycle.subnet_env_of_another_lease", "metrics.promtool", "pod_device.pcap_of_the_underlay_is_refused",
    "pod_rules.a_foreign_table", "pod_rules.forward_legacy", "pod_rules.forward_legacy_that_may_not_be_read",
    "pod_rules.forward_without_a_chain", "pod_rules.interface_down_and_mtu",
    "pod_rules.kernel_device", "pod_rules.kernel_device_with_the_port", "pod_rules.masquerade", "pod_rules.masquerade_as_by_nftables",
    "pod_rules.no_masquerade", "pod_rules.replace_kernel_device", "pod_rules.replaces_no_other_device", "restart.terminated", "superframes.a_crash_leaves_nothing",
    "superframes.kernel_peer", "superframes.without_the_capability", "systemd_unit", "trace.that_cannot_be_written",
    "two_nodes", "underlay", "waiting.admin_readers", "waiting.interface_that_comes_late", "waiting.port_of_another_program", "waiting.subnet_file_read_only",
    "wire_format.ecn_to_wire", "wire_format.no_udp_checksum",
)

# In these flanneld has several threads.
THREADS = ("forwarding", "host_routes", "lifecycle", "net_conf", "three_nodes", "workers")


def sanitized(tests, sanitizer):
    """Those that the gate runs under it. Failure for a line above that fits no test."""
    names = {test: {test, test.split(".")[0]} for test, _ in tests}
    unknown = {*UNSANITIZED, *THREADS}.difference(*names.values())
    command.expect(not unknown, f"{__file__} lists what does not exist: {' '.join(sorted(unknown))}")
    return [each for each in tests
            if names[each[0]].isdisjoint(UNSANITIZED) and names[each[0]].isdisjoint(THREADS) == (sanitizer == "asan")]


def interrupted(number, _):
    raise KeyboardInterrupt(signal.Signals(number).name)


def run_one(connection, name, function, subject):
    """In a process of its own: sends seconds, and None or why it failed."""
    topology.Lab.logs = os.path.join(topology.build_folder(), "netns-logs", name)
    parameters = inspect.signature(function).parameters
    arguments = {"subject": topology.KINDS[subject]} if "subject" in parameters else {}
    began = time.monotonic()
    try:
        reason = cases.judge(function, **arguments)
    finally:
        namespace.delete_own()
    connection.send((time.monotonic() - began, reason))


def run(tests, subject, jobs):
    """(name, seconds, None or why it failed) of each, in the order in which they end."""
    fork = multiprocessing.get_context("fork")
    waiting, running = list(tests), {}
    try:
        while waiting or running:
            while waiting and len(running) < jobs:
                name, function = waiting.pop(0)
                ours, theirs = fork.Pipe(duplex=False)
                process = fork.Process(target=run_one, args=(theirs, name, function, subject))
                process.start()
                theirs.close()
                running[ours] = process, name
            for connection in multiprocessing.connection.wait(running):
                process, name = running.pop(connection)
                try:
                    seconds, reason = connection.recv()
                    process.join()
                except EOFError:
                    process.join()
                    seconds, reason = 0, f"its process ended with {process.exitcode}"
                    namespace.delete_leftovers()
                yield name, seconds, reason
    finally:
        for process, _ in running.values():
            process.terminate()
        for process, _ in running.values():
            process.join()


def main():
    parser = argparse.ArgumentParser(prog="tests/netns/run.sh")
    parser.add_argument("--list", action="store_true", help="the names, one a line")
    parser.add_argument("--subject", choices=["weft", "kernel"], default="weft",
                        help="kernel: prove the harness, a kernel VXLAN device in weft's place; tests of weft alone are left out")
    parser.add_argument("names", nargs="*", metavar="NAME", help="a test, or the first part of some")
    parser.add_argument("--sanitized", choices=["asan", "tsan"], help="only what the gate runs under this sanitizer")
    parser.add_argument("--exactly", metavar="NAME", help="this test alone, whatever NAMEs are given")
    parser.add_argument("--jobs", type=int, default=2, help="so many tests at a time (2)")
    chosen = parser.parse_args()

    try:
        tests = cases.find(HERE)
        tests = cases.choose(sanitized(tests, chosen.sanitized) if chosen.sanitized else tests, chosen.names, chosen.exactly)
    except command.Failure as failure:
        print(f"tests/netns: {failure}", file=sys.stderr)
        return 2
    left_out = [test for test, function in tests if chosen.subject == "kernel" and "subject" not in inspect.signature(function).parameters]
    tests = [(test, function) for test, function in tests if test not in left_out]
    if chosen.list:
        print("\n".join(test for test, _ in tests))
        return 0
    for test in left_out:
        print(f"left out {test}: of weft alone")
    if not tests:
        print("tests/netns: no test is left", file=sys.stderr)
        return 2

    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, interrupted)
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's `&` ignores it, and so would the programs of the tests
    namespace.delete_leftovers()
    failed = []
    alone = [test for test in tests if test[0].startswith(ALONE)]
    beside = [test for test in tests if test not in alone]
    for name, seconds, reason in itertools.chain(run(beside, chosen.subject, chosen.jobs), run(alone, chosen.subject, 1)):
        if reason is None:
            print(f"ok {name} ({seconds:.1f} s)", flush=True)
        else:
            failed.append(name)
            print(f"not ok {name}: {reason}", flush=True)
    if failed:
        print(f"logs: {os.path.join(topology.build_folder(), 'netns-logs')}")
    print(f"{len(tests) - len(failed)} passed, {len(failed)} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt as reason:
        print(f"tests/netns: interrupted {reason}", file=sys.stderr)
        sys.exit(130)
    finally:
        namespace.delete_own()
