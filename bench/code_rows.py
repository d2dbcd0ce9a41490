"""The rows of the packet code alone: Google benchmarks of one core."""

import json
import os
import subprocess
import sys
from typing import NamedTuple

from lab import command
import machine
import summary

# key: (what, unit, name of its benchmark, {further figure, or reference: name of its benchmark})
ROWS = {  # 256 flows: one for each packet of a batch; 100,000: another lease with every packet
    "C1": ("encapsulate 64 bytes, look-up among 100,000 leases", "ns/packet",
           "C1/encapsulate/bytes:64/leases:100000/flows:256/manual_time",
           {"value_100000_flows": "C1/encapsulate/bytes:64/leases:100000/flows:100000/manual_time",
            "value_partial_checksum": "encapsulate/partial/bytes:64/leases:100000/flows:256/manual_time",
            "naive": "naive/encapsulate/bytes/64"}),
    "C2": ("encapsulate 1450 bytes, look-up among 100,000 leases", "ns/packet",
           "C2/encapsulate/bytes:1450/leases:100000/flows:256/manual_time",
           {"value_100000_flows": "C2/encapsulate/bytes:1450/leases:100000/flows:100000/manual_time",
            "value_partial_checksum": "encapsulate/partial/bytes:1450/leases:100000/flows:256/manual_time",
            "naive": "naive/encapsulate/bytes/1450"}),
    "C3": ("decapsulate 64 bytes, check the sender among 100,000", "ns/packet",
           "C3/decapsulate/bytes:64/leases:100000/flows:256/manual_time",
           {"value_100000_flows": "C3/decapsulate/bytes:64/leases:100000/flows:100000/manual_time"}),
    "C5": ("Internet checksum of 1450 bytes", "ns", "C5/sum/bytes/1450", {}),
    "L1": ("longest prefix match among 100,000 leases", "ns/lookup",
           "L1/throughput/clustered/leases:100000", {"value_dependent": "L1/dependent/clustered/leases:100000"}),
    "L2": ("the same of subnets from /16 to /28, within each other", "ns/lookup",
           "L2/throughput/mixed/leases:100000", {"value_dependent": "L2/dependent/mixed/leases:100000"}),
    "L3": ("the same in batches while 10,000 leases a second change", "ns/lookup", "L3/changing/manual_time",
           {"at rest": "L3/quiet/manual_time", "value_worst": "L3/changing/worst/manual_time", "value_worst_quiet": "L3/quiet/worst/manual_time"}),
    "T1": ("lease table: a Node reported for the first time, of 100,000", "ns/lease",
           "T1/first/v4", {"value_again": "T1/again/v4", "value_changed": "T1/changed"}),
}
REFERENCES = ("naive", "at rest")
COUNTERS = ("packet", "lookup", "lease")  # the benches' own, in seconds


def measure(folder, repetitions, smoke, watching):
    """{benchmark name: [Repetition]}."""
    found = {}
    names = [name for _, _, main, others in ROWS.values() for name in (main, *others.values())]
    programs = [name for name in sorted(os.listdir(folder)) if name.endswith("_bench")]
    command.expect(programs, f"no benchmark programs in {folder}; run: cmake --preset bench && cmake --build --preset bench")
    options = ["--benchmark_min_time=0.001"] if smoke else [  # without a filter: every benchmark
        f"--benchmark_repetitions={repetitions}", "--benchmark_enable_random_interleaving=true", "--benchmark_min_time=0.05",
        f"--benchmark_filter=^({'|'.join(names)})$"]
    for name in programs:
        path = os.path.join(folder, name)
        if not smoke and not run(path, *options, "--benchmark_list_tests=true").strip():
            continue
        print(f"  {name}", file=sys.stderr, flush=True)
        sample = watching.measure(lambda path=path: timed(path, *options))
        for each in sample.result["benchmarks"]:
            command.expect(not each.get("error_occurred"), f"{each['name']}: {each.get('error_message')}")
            seconds = next((each[counter] for counter in COUNTERS if counter in each), None)
            if each.get("run_type", "iteration") == "iteration" and seconds is not None:
                found.setdefault(each.get("run_name", each["name"]), []).append(Repetition(seconds * 1e9, sample.result["ghz"], sample.noisy))
    return found


class Repetition(NamedTuple):
    nanoseconds: float
    ghz: float
    noisy: bool


def run(path, *options):
    done = subprocess.run([path, *options], capture_output=True, text=True, preexec_fn=command.die_with_parent, timeout=900)
    command.expect(done.returncode == 0, f"{os.path.basename(path)} ended with {done.returncode}: {done.stderr.strip()[-300:]}")
    return done.stdout


def timed(path, *options):
    """The program's report, and the clock, which is measured before and after it, because the host may change it."""
    before = machine.clock_ghz()
    output = run(path, *options, "--benchmark_format=json")
    return {"benchmarks": json.loads(output)["benchmarks"] if output.strip() else [], "ghz": (before + machine.clock_ghz()) / 2}


def results(found):
    """Rows that are compared with the naive encapsulation, with a table at rest, or with nothing: the kernel has none."""
    made = {}
    for key, (what, unit, main, others) in ROWS.items():
        for name in (main, *others.values()):
            command.expect(name in found, f"no benchmark {name}")
        made[key] = {"what": what, **figures(found[main], "value"), "unit": unit, "reference": None, "ratio": None, "better": "lower",
                     "runs": len(found[main]), "noisy_samples": sum(each.noisy for each in found[main]), "sample_count": len(found[main])}
        for figure, name in others.items():
            if figure in REFERENCES:
                reference = figures(found[name], figure)[figure]
                made[key].update(reference=reference, reference_kind=figure, ratio=round(made[key]["value"] / reference, 3))
                continue
            made[key].update(figures(found[name], figure, figure.removeprefix("value")))
        made[key]["samples"] = {"weft": [{"value": round(each.nanoseconds, 3), "noisy": each.noisy} for each in found[main]]}
    return made


def figures(repetitions, name, suffix=""):
    nanoseconds = [each.nanoseconds for each in repetitions]
    spread = summary.spread(nanoseconds)
    return {name: round(summary.median(nanoseconds), 3), f"minimum{suffix}": round(min(nanoseconds), 3),
            f"cycles{suffix}": round(summary.median([each.nanoseconds * each.ghz for each in repetitions]), 1),
            f"spread{suffix}": None if spread is None else round(spread, 4)}
