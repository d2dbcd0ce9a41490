"""What is measured between the pods of two nodes. Each measurement is a function of (from, to) that returns a dictionary: `value`, and
where they exist `bytes` (delivered), `sent`, `lost`, `loss`, `retransmits`, `latencies_us`, `half_percent`."""

import time

from lab import command, traffic
import search
import summary

HALF_PERCENT = 0.005  # the share of lost packets that benchmarks of software forwarders accept (partial drop rate)
PRECISION = 0.05  # of the rates that the search for them finds
SCHEDULE_RATE = 1000  # requests a second


def tcp(streams, seconds, omit):
    def measure(a, b):
        report = traffic.iperf_report(a.pod, b.pod, b.pod_ip, seconds=seconds, streams=streams, omit=omit)
        return {"value": report["end"]["sum_received"]["bits_per_second"] / 1e9,
                "bytes": sum(each["sum"]["bytes"] for each in report["intervals"]),  # with the omitted ones, whose CPU time counts, too
                "retransmits": report["end"]["sum_sent"]["retransmits"]}
    return measure


def udp(figure, seconds, payload_seed, **options):
    """As fast as the sender can: `value` is what arrives."""
    def measure(a, b):
        sent, received = traffic.udp(a.pod, b.pod, b.pod_ip, gro=True, idle=0.3, seconds=seconds, payload_seed=payload_seed, **options)
        return {"value": received[figure], "bytes": received["bytes"], **loss(sent, received)}
    return measure


def loss(sent, received):
    lost = max(sent["datagrams"] - received["datagrams"], 0)
    return {"sent": sent["datagrams"], "lost": lost, "loss": lost / max(sent["datagrams"], 1)}


def no_drop(size, trial_seconds, payload_seed, steps=10):
    """The highest rate without any loss (`value`) and with at most half a percent of loss, in million packets a second.

    The sink is a plain one, without UDP_GRO, as most programs are.
    """
    def measure(a, b):
        def send(**options):
            return traffic.udp(a.pod, b.pod, b.pod_ip, idle=0.1, size=size, payload_seed=payload_seed, **options)

        def trial(rate):
            count = max(int(rate * trial_seconds), 1)
            sent, received = send(count=count, rate=int(rate), expected=count)
            return search.Trial(sent["datagrams"] / max(sent["seconds"], 1e-9), loss(sent, received)["loss"])

        sent, received = send(seconds=trial_seconds)
        start, highest = received["mpps"] * 1e6, sent["mpps"] * 1e6
        searching = search.Search(trial)
        some = searching.highest(HALF_PERCENT, min(start, highest), highest, PRECISION, steps)
        none = searching.highest(0, min(start, highest), highest, PRECISION, steps)
        # A rate without loss is also one with at most half a percent.
        return {"value": none.rate / 1e6, "half_percent": max(some.rate, none.rate) / 1e6, "sender_limited": none.sender_limited,
                "sender_limited_half_percent": some.sender_limited, "trials": searching.trials(), **loss(sent, received)}
    return measure


def round_trip(seconds, payload_seed):
    """`value`: the mean of pings 10 ms apart. Then requests at fixed times."""
    def measure(a, b):
        traffic.ping(a.pod, b.pod_ip)
        mean = traffic.ping(a.pod, b.pod_ip, count=round(100 * seconds), interval=0.01)
        return {"value": mean, **scheduled(a, b, seconds, payload_seed)}
    return measure


def scheduled(a, b, seconds, payload_seed):
    report = traffic.round_trips(a.pod, b.pod, b.pod_ip, rate=SCHEDULE_RATE, seconds=seconds, payload_seed=payload_seed)
    lost = report["sent"] - report["answered"]
    return {"latencies_us": report["latencies_us"], "sent": report["sent"], "lost": lost, "loss": lost / max(report["sent"], 1),
            "lateness_us": report["mean_lateness_us"]}


def loaded_round_trip(share, seconds, payload_seed, rate_of):
    """`value`: the median of requests at fixed times, next to a TCP stream of `share` of `rate_of(a, b)`, in Gb/s."""
    def measure(a, b):
        megabits = max(share * rate_of(a, b) * 1000, 1)
        load = command.Background(lambda: traffic.iperf_report(a.pod, b.pod, b.pod_ip, seconds=seconds + 1, megabits=megabits))
        try:
            time.sleep(0.3)  # iperf3 connects
            result = scheduled(a, b, seconds, payload_seed)
            kept = load.running()
        finally:
            report = load.result()
        return {"value": summary.median(result["latencies_us"]), **result, "loaded_throughout": kept,
                "load_gbit_per_second": report["end"]["sum_received"]["bits_per_second"] / 1e9,
                "load_desired_gbit_per_second": megabits / 1000}
    return measure
