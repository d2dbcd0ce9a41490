"""The measuring machine: its facts, and whether it is idle."""

import json
import os
import subprocess
import sys
import time

from lab import command, topology

IDLE_SHARE = 0.88  # of all cores


class IdleGate:
    """Waits until no other program uses the machine, for a limited time."""

    def __init__(self, patience, seconds=1, busy_patience=2):
        self.patience = patience
        self.busy_patience = busy_patience  # once a wait was in vain
        self.seconds = seconds  # how long the machine must be idle
        self.noisy = 0

    @staticmethod
    def _times():
        with open("/proc/stat", encoding="ascii") as file:
            fields = [int(word) for word in file.readline().split()[1:9]]
        return fields[3] + fields[4], sum(fields)

    def wait(self):
        """Whether the machine became idle; with patience 0 returns True without a check."""
        deadline = time.monotonic() + self.patience
        while self.patience:
            idle, total = self._times()
            time.sleep(self.seconds)
            idle_later, total_later = self._times()
            if idle_later - idle >= IDLE_SHARE * (total_later - total):
                return True
            if time.monotonic() >= deadline:
                self.noisy += 1
                self.patience = min(self.patience, self.busy_patience)  # a busy machine stays busy: wait only shortly from now on
                return False
        return True


def build_release(steps, *targets):
    """Builds `targets` as they are shipped, after `steps` of cmake/bootstrap.sh."""
    print("build release ...", file=sys.stderr, flush=True)
    subprocess.run([os.path.join(topology.ROOT, "cmake", "bootstrap.sh"), *steps], check=True, stdout=sys.stderr)
    os.environ.setdefault("WEFT_BUILD", "build/release")
    for words in (["cmake", "--preset", "release"], ["cmake", "--build", "--preset", "release", "--target", *targets]):
        done = subprocess.run(words, cwd=topology.ROOT, capture_output=True, text=True, preexec_fn=command.die_with_parent)
        command.expect(done.returncode == 0, f"{' '.join(words)}: {done.stdout[-2000:]}{done.stderr[-2000:]}")


def clock_ghz():
    return json.loads(command.run(topology.find_program("traffic"), "clock"))["ghz"]


def git(*words):
    return command.run("git", "-C", topology.ROOT, *words, check=False).strip()


def facts():
    with open("/proc/cpuinfo", encoding="ascii", errors="replace") as file:
        model = next((line.split(":")[1].strip() for line in file if line.startswith("model name")), "unknown")
    return {"cpu": model, "cores": os.cpu_count(), "clock_ghz": clock_ghz(), "kernel": os.uname().release,
            "commit": git("rev-parse", "--short", "HEAD"), "dirty": bool(git("status", "--porcelain"))}


def sentence(found):
    return "{cpu}, {cores} cores at {clock_ghz} GHz, Linux {kernel}, commit {commit}{changed}".format(
        **found, changed=" with local changes" if found["dirty"] else "")
