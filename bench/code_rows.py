"""The rows of the packet code alone: Google benchmarks of one core."""

import json
import os
import subprocess
import sys

from lab import command
import machine
import summary

# key: (what, unit, name of its benchmark, {further figure: name of its benchmark})
ROWS = {  # 256 flows: one for each packet of a batch; 100,000: another lease with every packet
    "C1": ("encapsulate 64 bytes, look-up among 100,000 leases", "ns/packet",
           "C1/encapsulate/bytes:64/leases:100000/flows:256/manual_time",
           {"value_100000_flows": "C1/encapsulate/bytes:64/leases:100000/flows:100000/manual_time",
            "value_partial_checksum": "encapsulate/partial/bytes:64/leases:100000/flows:256/manual_time"}),
    "C2": ("encapsulate 1450 bytes, look-up among 100,000 leases", "ns/packet",
           "C2/encapsulate/bytes:1450/leases:100000/flows:256/manual_time",
           {"value_100000_flows": "C2/encapsulate/bytes:1450/leases:100000/flows:100000/manual_time",
            "value_partial_checksum": "encapsulate/partial/bytes:1450/leases:100000/flows:256/manual_time"}),
    "C3": ("decapsulate 64 bytes, check the sender among 100,000", "ns/packet",
           "C3/decapsulate/bytes:64/leases:100000/flows:256/manual_time",
           {"value_100000_flows": "C3/decapsulate/bytes:64/leases:100000/flows:100000/manual_time"}),
    "L1": ("longest prefix match among 100,000 leases", "ns/lookup",
           "L1/throughput/clustered/leases:100000", {"value_dependent": "L1/dependent/clustered/leases:100000"}),
    "T1": ("lease table: a Node reported for the first time, of 100,000", "ns/lease",
           "T1/first/v4", {"value_again": "T1/again/v4", "value_changed": "T1/changed"}),
}
COUNTERS = ("packet", "lookup", "lease")  # the benches' own, in seconds


def measure(folder, repetitions, smoke):
    """{benchmark name: [(ns, GHz) of each repetition]}. The clock is measured next to each program, because the host may change it."""
    found = {}
    names = [name for _, _, main, others in ROWS.values() for name in (main, *others.values())]
    programs = [name for name in sorted(os.listdir(folder)) if name.endswith("_bench")]
    command.expect(programs, f"no benchmark programs in {folder}; run: cmake --preset bench && cmake --build --preset bench")
    for name in programs:
        words = [os.path.join(folder, name), "--benchmark_format=json"]
        if smoke:  # every benchmark
            words.append("--benchmark_min_time=0.001")
        else:
            words += [f"--benchmark_repetitions={repetitions}", "--benchmark_enable_random_interleaving=true", "--benchmark_min_time=0.05",
                      f"--benchmark_filter=^({'|'.join(names)})$"]
        print(f"  {name}", file=sys.stderr, flush=True)
        before = machine.clock_ghz()
        done = subprocess.run(words, capture_output=True, text=True, preexec_fn=command.die_with_parent, timeout=900)
        clock = (before + machine.clock_ghz()) / 2
        command.expect(done.returncode == 0, f"{name} ended with {done.returncode}: {done.stderr.strip()[-300:]}")
        for each in json.loads(done.stdout)["benchmarks"] if done.stdout.strip() else []:
            command.expect(not each.get("error_occurred"), f"{each['name']}: {each.get('error_message')}")
            seconds = next((each[counter] for counter in COUNTERS if counter in each), None)
            if each.get("run_type", "iteration") == "iteration" and seconds is not None:
                found.setdefault(each.get("run_name", each["name"]), []).append((seconds * 1e9, clock))
    return found


def results(found, noisy):
    """Rows without a reference, because the kernel has none."""
    made = {}
    for key, (what, unit, main, others) in ROWS.items():
        for name in (main, *others.values()):
            command.expect(name in found, f"no benchmark {name}")
        made[key] = {"what": what, **figures(found[main], "value"), "unit": unit, "reference": None, "ratio": None, "better": "lower",
                     "runs": len(found[main]), "noisy": noisy}
        for figure, name in others.items():
            made[key].update(figures(found[name], figure, figure.removeprefix("value")))
        made[key]["samples"] = {"weft": [{"value": round(ns, 3)} for ns, _ in found[main]]}
    return made


def figures(repetitions, name, suffix=""):
    nanoseconds = [ns for ns, _ in repetitions]
    spread = summary.spread(nanoseconds)
    return {name: round(summary.median(nanoseconds), 3), f"minimum{suffix}": round(min(nanoseconds), 3),
            f"cycles{suffix}": round(summary.median([ns * clock for ns, clock in repetitions]), 1),
            f"spread{suffix}": None if spread is None else round(spread, 4)}
