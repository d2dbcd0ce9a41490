#!/usr/bin/env python3
"""deploy/systemd/flanneld.service, the repository in the first argument: systemd reads it without complaint, and rates its confinement; what it needs
of the program is there."""
import pathlib
import re
import subprocess
import sys
import tempfile

MOST_EXPOSED = 30  # of 100, as `systemd-analyze security` counts; a unit without confinement has 96


def analyze(*words):
    done = subprocess.run(["systemd-analyze", *words], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def main():
    unit = pathlib.Path(sys.argv[1], "deploy/systemd/flanneld.service")
    text = unit.read_text()
    program = re.search(r"^ExecStart=(\S+)$", text, re.MULTILINE)
    found = [] if program else ["no ExecStart"]
    with tempfile.TemporaryDirectory() as folder:
        # With a program that exists, and without the manual and the units of a booted system.
        copy = pathlib.Path(folder, unit.name)
        copy.write_text(re.sub(r"^ExecStart=.*$", "ExecStart=/bin/true", re.sub(r"^Documentation=.*\n", "", text, flags=re.MULTILINE),
                               flags=re.MULTILINE))
        code, said = analyze("verify", str(copy))
        if code != 0 or said.strip():
            found.append(f"verify: {said.strip()} ({code})")
        copy.write_text(copy.read_text() + "\n[Service]\nNoSuchSetting=1\n")
        if not analyze("verify", str(copy))[1].strip():
            found.append("verify accepts a setting that does not exist: it proves nothing here")
    code, said = analyze("security", "--offline=true", f"--threshold={MOST_EXPOSED}", str(unit))
    if code != 0:
        found.append(f"security: {said.strip().splitlines()[-1]}")
    for line in ("Type=notify", "TimeoutStartSec=infinity", "RuntimeDirectoryPreserve=yes"):
        if line not in text.splitlines():
            found.append(f"{line} is missing: without it systemd ends a flanneld that waits, or removes subnet.env")
    if not re.search(r"^WatchdogSec=\d+$", text, re.MULTILINE):
        found.append("WatchdogSec is missing")
    sys.exit("\n".join(f"systemd_unit: {each}" for each in found) or 0)


main()
