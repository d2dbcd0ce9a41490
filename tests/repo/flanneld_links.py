#!/usr/bin/env python3
"""Checks which libraries of control/emulator flanneld links, by its link command in the build folder (Ninja) in the first argument: the client of
an emulator's socket, for Linux; with --windows none but what refuses one. What a package ships is no emulator."""
import re
import subprocess
import sys

LINUX = {"weft_emulator_client", "weft_open_hns"}
WINDOWS = {"weft_own_hns"}


def linked(link_command):
    """The libraries of control/emulator in it."""
    return set(re.findall(r"\bcontrol/emulator/\S*?lib(\w+)\.a\b", link_command))


def main():
    build, windows = sys.argv[1], "--windows" in sys.argv
    program = "bin/flanneld.exe" if windows else "bin/flanneld"
    command = subprocess.run(["ninja", "-C", build, "-t", "commands", "-s", program], check=True, capture_output=True, text=True).stdout
    if "libweft_daemon.a" not in command:
        sys.exit(f"flanneld_links: {build} has no link command of {program}; configure it with Ninja")
    found, allowed = linked(command), WINDOWS if windows else LINUX
    if found != allowed:
        sys.exit(f"flanneld_links: {program} links {sorted(found)} of control/emulator, where {sorted(allowed)} is right: take the library out of "
                 "what control/daemon links")


main()
