"""deploy/demo.sh --stay: what it shows can be typed as it is. The whole demo is a stage of tests/run.sh."""

import os
import re
import signal
import subprocess

from lab import command, topology

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def test_stay():
    with subprocess.Popen([os.path.join(ROOT, "deploy", "demo.sh"), "--no-build", "--stay"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, env={**os.environ, "WEFT_BUILD": topology.build_folder()}) as demo:
        try:
            said = ""
            for line in demo.stdout:
                said += line
                if "nodes.json" in line and "weft follows" in line:
                    break
            shown = re.findall(r"^  \$ (ip netns exec .*|.*flannelctl status .*)$", said, re.M)
            command.expect_equal(len(shown), 3, f"commands to try in {said}")
            for words in shown:
                command.run(*words.split(), *(["-c", "1", "-W", "5"] if "ping" in words else []))
        finally:
            demo.send_signal(signal.SIGINT)
            rest = demo.stdout.read()
        command.expect_equal(demo.wait(), 0, f"exit code after Ctrl-C ({rest})")
    names = command.run("ip", "netns", "list")
    command.expect(f"weft-demo-{demo.pid}-" not in names, f"namespaces left: {names}")
