"""The path of bench/, and samples and rows that did not need a machine."""

import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.dont_write_bytecode = True
sys.path[:0] = [str(ROOT / "bench"), str(ROOT / "tests" / "netns")]

import cpu  # noqa: E402
import watch  # noqa: E402


def sample(value, noisy=False, busy_seconds=1.0, **result):
    usage = cpu.Usage(busy_seconds, steal=0.01, foreign=0.0, idle=0.5)
    return watch.Sample({"value": value, **result}, usage, ["the machine was not idle before"] if noisy else [])


def row(**changes):
    return {"what": "TCP, 1 stream", "value": 10.0, "unit": "Gb/s", "reference": 20.0, "ratio": 0.5, "runs": 10, "spread": 0.02,
            "ratio_spread": 0.01, "better": "higher", "subject": "weft", "reference_kind": "kernel", **changes}
