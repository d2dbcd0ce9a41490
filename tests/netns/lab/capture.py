"""Frames on a link, judged by tshark."""

import os
import signal
import subprocess

from . import command


class Capture:
    """Records `device` of a namespace while it is open; the file lies in the lab's folder."""

    def __init__(self, lab, where, device="u0", filter_="udp port 4789"):
        self.path = os.path.join(lab.folder, f"{where.name}-{device}.pcap")
        self.process = where.start("tcpdump", "-i", device, "-U", "--immediate-mode", "-B", "16384", "-w", self.path, filter_,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        for line in self.process.stderr:
            if "listening on" in line:
                break
        else:
            raise command.PeerFailure(f"tcpdump on {device} did not start")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        command.stop(self.process, signal.SIGINT)
        self.process.stderr.close()

    def rows(self, fields, display_filter="", decode_as=()):
        """One dict a frame. A field that occurs in the outer and the inner header is a list, outer first."""
        words = ["tshark", "-r", self.path, "-T", "fields", "-E", "separator=|", "-E", "aggregator=,", "-E", "occurrence=a",
                 "-o", "udp.check_checksum:TRUE", "-o", "ip.check_checksum:TRUE", "-o", "tcp.check_checksum:TRUE"]
        for each in decode_as:
            words += ["-d", each]
        if display_filter:
            words += ["-Y", display_filter]
        for field in fields:
            words += ["-e", field]
        rows = []
        ended = self.process.poll() is not None  # before, tshark may complain of a last frame that is not whole yet
        for line in command.run(*words, check=ended).splitlines():
            rows.append({field: value.split(",") if value else [] for field, value in zip(fields, line.split("|"))})
        return rows
