"""deploy/two-nodes.sh: what it shows can be typed as it is."""

import os
import signal
import subprocess

from lab import command

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.join(ROOT, os.environ.get("WEFT_BUILD", "build/dev"))


def test_two_nodes():
    name = f"weft-{os.getpid()}"
    with subprocess.Popen([os.path.join(ROOT, "deploy", "two-nodes.sh"), name], env=os.environ | {"WEFT_BUILD": BUILD},
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as nodes:
        try:
            reported = ""
            for line in nodes.stdout:
                reported += line
                if "Ctrl-C" in line:
                    break
            shown = [line.split() for line in reported.splitlines() if line.startswith("  ") and "tail" not in line]
            command.expect_equal(len(shown), 3, f"commands to try in {reported}")
            for words in shown:
                command.run(*words, *(["-c", "1", "-W", "5"] if "ping" in words else []))
        finally:
            nodes.send_signal(signal.SIGINT)
            rest = nodes.stdout.read()
        command.expect_equal(nodes.wait(), 0, f"exit code after Ctrl-C ({rest})")
    names = command.run("ip", "netns", "list")
    command.expect(name not in names, f"namespaces left: {names}")
    command.expect(not os.path.exists(f"/run/weft-{name}"), "files left")
