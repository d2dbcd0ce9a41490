"""Traffic between namespaces: ping, our own `traffic` program (UDP and hashed TCP), iperf3."""

import contextlib
import json
import re
import signal
import subprocess
import tempfile

from . import command, topology


def ping(source, address, count=2, size=None, fragment=True, interval=0.05):
    """Average round trip in microseconds. `size` is the whole IP packet's; `fragment=False` sets DF."""
    timeout = 10 + round(2 * count * interval)  # on a busy machine the interval grows
    words = ["ping", "-n", "-i", str(interval), "-c", str(count), "-w", str(timeout)]
    if size:
        words += ["-s", str(size - (48 if ":" in address else 28))]
    if not fragment:
        words += ["-M", "do"]
    output = source.run(*words, address, check=False, timeout=timeout + 5)
    received = re.search(r"(\d+) received", output)
    if not received or int(received[1]) < count:
        reported = [line for line in output.splitlines() if "From" in line or "error" in line]
        answered = {int(number) for number in re.findall(r"bytes from .* icmp_seq=(\d+)", output)}
        lost = [number for number in range(1, count + 1) if number not in answered]
        reported.append(f"without answer: {len(lost)}, from number {lost[0]} to {lost[-1]}, one each {interval} s" if lost else "none lost")
        raise command.Failure(f"ping {address} from {source.name}: {received[1] if received else 0} of {count} answered"
                              + f" ({'; '.join(reported[-2:])})")
    return float(re.search(r"= [\d.]+/([\d.]+)/", output)[1]) * 1000


def ping_fails(source, address, timeout=1, size=84):
    """Whether none of three is answered."""
    output = source.run("ping", "-n", "-i", "0.1", "-c", "3", "-W", "1", "-w", str(timeout), "-s", str(size - 28), address, check=False)
    return " 0 received" in output


def unanswered(output, most_on_their_way):
    """(Numbers of the pings without an answer, how many have one), of what an ending ping prints. The last ones may be on their way: they do not
    count, unless they are more than that."""
    answered = {int(number) for number in re.findall(r"icmp_seq=(\d+) ttl=", output)}
    sent, last = int(re.search(r"(\d+) packets transmitted", output)[1]), max(answered, default=0)
    counted = last if answered and sent - last <= most_on_their_way else sent
    return sorted(set(range(1, counted + 1)) - answered), len(answered)


class Pings:
    """One each `interval` seconds, until `finish` or `kill`."""

    def __init__(self, source, address, interval=0.01):
        self.source, self.address, self.interval = source, address, interval
        self.output = tempfile.TemporaryFile("w+")
        self.process = source.start("ping", "-n", "-i", str(interval), address, stdout=self.output, stderr=subprocess.STDOUT)

    def finish(self):
        """As `unanswered`; half a second of pings may be on their way."""
        command.stop(self.process, signal.SIGINT)
        with self.output:
            self.output.seek(0)
            return unanswered(self.output.read(), round(0.5 / self.interval))

    def kill(self):
        command.stop(self.process, signal.SIGKILL)
        self.output.close()


@contextlib.contextmanager
def nothing_lost(*ways, interval=0.01):
    """`ways`: (pod, address). Not one ping is lost while the body runs."""
    pings = [Pings(*way, interval) for way in ways]
    try:
        yield
        for each in pings:
            ping(each.source, each.address, count=1)  # the end works, however late the answers are
    except BaseException:
        for each in pings:
            each.kill()
        raise
    for each, (lost, answered) in [(each, each.finish()) for each in pings]:
        way = f"{each.source.name} to {each.address}"
        command.expect(answered > 20, f"ping {way}: only {answered} answered")
        command.expect(not lost, f"ping {way}: lost {len(lost)} of {len(lost) + answered}: {lost[:10]}")
        print(f"   {way}: {answered} answered, 0 lost", flush=True)


class Sink:
    """A receiving `traffic`; its report once it ended."""

    def __init__(self, where, verb, **options):
        self.process = where.start(topology.find_program("traffic"), verb, *flags(options), stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE)
        first = self.process.stdout.readline()
        if first.strip() != "ready":
            raise command.Failure(f"{verb} in {where.name}: {self.process.stderr.read().strip() or first.strip()}")

    def report(self, timeout=30):
        output, complaint = command.finish(self.process, "a sink", timeout)
        if not output.strip():
            raise command.Failure(f"the sink ended with {self.process.returncode}: {complaint.strip()}")
        return json.loads(output)


def flags(options):
    return [f"--{key.replace('_', '-')}={value}" for key, value in options.items() if value is not None]


def send(where, verb, timeout=20, **options):
    """The sender's report. A sanitizer makes flanneld some ten times slower."""
    limit = 4 * timeout if topology.are_sanitized() else timeout
    return json.loads(where.run(topology.find_program("traffic"), verb, *flags(options), timeout=limit))


def tcp(source, sink, address, size, seed=1, timeout=20):
    """Moves `size` bytes over one TCP connection, hashed at both ends; the sender's report."""
    receiving = Sink(sink, "tcp-sink")
    try:
        sent = send(source, "tcp-send", to=address, bytes=size, seed=seed, timeout=timeout)
    except command.Failure:
        command.stop(receiving.process, signal.SIGKILL)
        raise
    received = receiving.report()
    command.expect(sent["intact"] and received["bytes"] == size, f"TCP to {address}: sent {sent}, received {received}")
    return sent


def udp(source, sink, address, gro=False, idle=0.5, seed=None, expected=None, **options):
    """Sends datagrams and returns (sender's, sink's) reports. After `expected` datagrams the sink ends at once."""
    receiving = Sink(sink, "udp-sink", gro=int(gro), idle=idle, seed=seed, count=expected)
    sent = send(source, "udp-send", to=address, seed=seed, **options)
    # The end of the stream sends nothing; a sink that received nothing would wait forever, and is stopped.
    try:
        receiving.process.wait(idle + 3)
    except subprocess.TimeoutExpired:
        receiving.process.send_signal(signal.SIGINT)
    received = receiving.report()
    command.expect(received["datagrams"] > 0, f"none of {sent['datagrams']} datagrams to {address} arrived")
    return sent, received


@contextlib.contextmanager
def iperf_server(where):
    """Yields a port on which one iperf3 test may be made."""
    server = where.start("iperf3", "-s", "-1", "-p", "5201", "--forceflush", stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    try:
        for line in server.stdout:
            if "listening" in line:
                break
        else:
            raise command.PeerFailure(f"iperf3 -s in {where.name} did not start")
        yield 5201
    finally:
        command.stop(server, signal.SIGKILL)
        server.stdout.close()


def iperf_report(source, sink, address, seconds=2, streams=1, omit=0, megabits=None):
    """iperf3's JSON report. The first `omit` seconds (slow start) are not in its sums; `megabits` limits each stream's rate."""
    options = ["-O", str(omit)] if omit else []
    options += ["-b", f"{megabits:.0f}M"] if megabits else []
    with iperf_server(sink) as port:
        output = source.run("iperf3", "-J", "-c", address, "-p", str(port), "-t", str(seconds), "-P", str(streams), *options,
                            check=False, timeout=seconds + omit + 20)
    report = json.loads(output or "{}")
    if "error" in report or "end" not in report:
        raise command.Failure(f"iperf3 to {address}: {report.get('error', 'no report')}")
    return report


def iperf(source, sink, address, seconds=2, streams=1):
    """Gb/s as the receiver counted them."""
    return iperf_report(source, sink, address, seconds, streams)["end"]["sum_received"]["bits_per_second"] / 1e9


@contextlib.contextmanager
def echo(where):
    """Yields the port of a program that returns datagrams to their senders."""
    process = where.start(topology.find_program("traffic"), "echo", "--port=9997", stdout=subprocess.PIPE)
    try:
        command.expect(process.stdout.readline().strip() == "ready", f"traffic echo in {where.name} does not start")
        yield 9997
    finally:
        command.stop(process)
        process.stdout.close()


def round_trips(source, sink, address, **options):
    """Requests at fixed times; the report of `traffic round-trip`."""
    with echo(sink) as port:
        report = send(source, "round-trip", to=address, port=port, **options)
    command.expect(report["answered"] > 0, f"none of {report['sent']} requests to {address} was answered")
    return report
