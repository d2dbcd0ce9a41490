"""The end-to-end rows: which contender is compared with which, in what experiment. An experiment measures all its contenders in every turn, and
rows may share one, so that their ratios are of figures taken within the same minute."""

from typing import NamedTuple

from contenders import BUSY_POLL_US
import measurements


class Experiment(NamedTuple):
    unit: str
    measure: object  # a function of (from, to) that returns a dictionary
    order: tuple  # of the contenders in a turn; every second turn is reversed
    deferred_gro: bool = False  # on the pods' links, for all contenders


class Row(NamedTuple):
    what: str
    experiment: str
    subject: str = "weft"
    references: tuple = ("kernel",)  # the first is the row's reference
    best: bool = False  # the better of the references is the row's reference
    figure: str = "value"
    unit: str = ""  # by default the experiment's
    lower_is_better: bool = False
    quick: bool = True  # part of --quick

    def contenders(self):
        return (self.subject, *self.references)


KERNELS = ("kernel", "kernel-tuned")

ROWS = {
    "D1": Row("TCP, 1 stream", "tcp", references=KERNELS, best=True),
    "D1k": Row("TCP, 1 stream, weft sends to a kernel peer", "tcp", subject="weft-to-kernel"),
    "D1f": Row("TCP, 1 stream, a kernel peer sends to weft", "tcp", subject="kernel-to-weft"),
    "D1g": Row("TCP, 1 stream, superframes sent whole", "tcp", subject="weft-whole", references=KERNELS, best=True, quick=False),
    "E1": Row("CPU time of the machine for a gigabyte, TCP, 1 stream", "tcp", references=KERNELS, best=True, figure="cpu_s_per_gb", unit="s/GB",
              lower_is_better=True),
    "D2": Row("TCP, 4 streams", "tcp4", references=KERNELS, best=True),
    "D2g": Row("TCP, 4 streams, superframes sent whole", "tcp4", subject="weft-whole", references=KERNELS, best=True, quick=False),
    "D3": Row("UDP, 18 bytes", "udp"),
    "D4": Row("UDP, 18 bytes, deferred GRO on the pods' links", "udp-deferred"),
    "D5": Row("UDP, 18 bytes, application sends 64 at once", "udp-gso", references=KERNELS, best=True),
    "D6": Row("UDP, 1400 bytes, application sends 44 at once", "udp-gso-large", references=KERNELS, best=True),
    "N1": Row("UDP, 18 bytes, highest rate without loss", "no-drop", quick=False),
    "N2": Row("UDP, 1400 bytes, highest rate without loss", "no-drop-large", quick=False),
    "D7": Row("TCP, 1 stream, compared with flannel's udp backend", "tcp", references=("udp", "kernel")),
    "D7o": Row("TCP, 1 stream, compared with Open vSwitch in user space", "tcp", references=("ovs", "kernel")),
    "D8": Row("ping round trip, idle", "latency", lower_is_better=True),
    "D8k": Row("ping round trip, idle, weft and a kernel peer", "latency", subject="weft-to-kernel", lower_is_better=True, quick=False),
    "D8b": Row(f"ping round trip, idle, weft with --busy-poll={BUSY_POLL_US} and a kernel peer", "latency", subject="weft-busy-poll", lower_is_better=True),
    "D8bb": Row(f"ping round trip, idle, both weft with --busy-poll={BUSY_POLL_US}", "latency", subject="weft-both-busy-poll", lower_is_better=True,
                quick=False),
    "D8l10": Row("round trip next to TCP at 10 % of the contender's D1", "latency-10", lower_is_better=True, quick=False),
    "D8l50": Row("round trip next to TCP at 50 % of the contender's D1", "latency-50", lower_is_better=True),
    "D1w": Row("TCP, 1 stream, as on a wire", "tcp-wire", "weft-wire", ("kernel-wire",), quick=False),
    "D2w": Row("TCP, 4 streams, as on a wire", "tcp4-wire", "weft-wire", ("kernel-wire",), quick=False),
    "D6w": Row("UDP, 1400 bytes, application sends 44 at once, as on a wire", "udp-gso-large-wire", "weft-wire", ("kernel-wire",), quick=False),
    "D1p": Row("TCP, 1 stream, pods on an adapter by libpcap", "tcp", subject="pcap", quick=False),
    "D3p": Row("UDP, 18 bytes, pods on an adapter by libpcap", "udp", subject="pcap", quick=False),
    "D8p": Row("ping round trip, idle, pods on an adapter by libpcap", "latency", subject="pcap", lower_is_better=True, quick=False),
    "D1c": Row("TCP, 1 stream, flannelctl capture beside both; reference: without", "tcp", subject="captured", references=("weft",), quick=False),
    "D3c": Row("UDP, 18 bytes, flannelctl capture beside both; reference: without", "udp", subject="captured", references=("weft",), quick=False),
}

# Neighbours in this order are measured back to back. The kernel is next to weft and to weft with a kernel peer.
ORDER = ("kernel-tuned", "weft-to-kernel", "kernel", "weft", "weft-whole", "kernel-to-weft", "weft-busy-poll", "weft-both-busy-poll", "captured",
         "pcap", "udp", "ovs", "kernel-wire", "weft-wire")


class Length(NamedTuple):
    """How long each measurement takes, seconds."""

    tcp: int  # counted; the first `omit` seconds before are not
    omit: int
    udp: float
    trial: float
    latency: int
    steps: int  # of a search


def experiments(length, seed, rate_of):
    """{name: Experiment} with all contenders that any row needs. `rate_of(a, b)`: a contender's own D1, in Gb/s."""
    tcp = {streams: measurements.tcp(streams, length.tcp, length.omit) for streams in (1, 4)}
    small = measurements.udp("mpps", length.udp, seed, size=18)
    small_gso = measurements.udp("mpps", length.udp, seed, size=18, gso=64)
    large_gso = measurements.udp("gbit_per_second", length.udp, seed, size=1400, gso=44)

    def loaded(share):
        return measurements.loaded_round_trip(share, length.latency, seed, rate_of)

    def no_drop(size):
        return measurements.no_drop(size, length.trial, seed, length.steps)

    found = {
        "tcp": ("Gb/s", tcp[1]), "tcp4": ("Gb/s", tcp[4]),
        "udp": ("Mpps", small), "udp-deferred": ("Mpps", small), "udp-gso": ("Mpps", small_gso), "udp-gso-large": ("Gb/s", large_gso),
        "no-drop": ("Mpps", no_drop(18)), "no-drop-large": ("Mpps", no_drop(1400)),
        "latency": ("us", measurements.round_trip(length.latency, seed)), "latency-10": ("us", loaded(0.1)), "latency-50": ("us", loaded(0.5)),
        "tcp-wire": ("Gb/s", tcp[1]), "tcp4-wire": ("Gb/s", tcp[4]), "udp-gso-large-wire": ("Gb/s", large_gso),
    }
    return {name: Experiment(unit, measure, (), deferred_gro=name == "udp-deferred") for name, (unit, measure) in found.items()}


def needed(rows, made):
    """The experiments that `rows` need, each with the contenders that they need, in the order of measurement."""
    chosen = {}
    for row in rows.values():
        chosen.setdefault(row.experiment, set()).update(row.contenders())
    return {name: made[name]._replace(order=tuple(each for each in ORDER if each in chosen[name])) for name in chosen}
