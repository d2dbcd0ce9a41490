"""A Windows node: a namespace with one Wine prefix, one HNS emulator that all of its programs share, and flanneld.exe."""

import json
import os
import shutil
import signal
import subprocess
import time

from lab import command, daemon, lease, peers, topology

from . import member

EMULATOR = r"\\.\pipe\hns"  # of the prefix, as all of its pipes
WINE = "/usr/lib/wine/wine64"
NETWORK = "flannel.4096"


def windows_path(path):
    return "Z:" + path.replace("/", "\\")


def our(program, emulated_host=False):
    """A Windows program of the build."""
    return os.path.join(topology.ROOT, "build", "windows", "bin", program + ("_emulated_host" if emulated_host else "") + ".exe")


def start_in_wine(start, log_path, patience=10):
    """The process that `start()` returns, once it has written to the end of `log_path`. Wine's own start-up ends a process without a word, once
    in thousands: then it is started once more."""
    def size():
        return os.path.getsize(log_path) if os.path.exists(log_path) else 0

    for last in (False, True):
        before, deadline = size(), time.monotonic() + patience
        process = start()
        while process.poll() is None and size() == before and time.monotonic() < deadline:
            time.sleep(0.02)
        if last or process.poll() in (None, 0) or size() != before:
            return process
        print(f"   once more, for it ended without a word: the program of {log_path}", flush=True)


class Node(member.Member):
    """`flavour`, whose flanneld.exe, may change while it is down, and so may `emulated_host`: ours uses the emulator's host, where HNS moves
    addresses and routes can be written, instead of Wine's. Those are separate programs (WEFT_EMULATED_HOST)."""

    emulated_host = False
    on_sigterm = -signal.SIGTERM  # to Wine it is no word to the program

    def __init__(self, cluster, name):
        super().__init__(cluster, name)
        self.prefix = self.path("wine")
        self.programs = []
        command.run(os.path.join(topology.ROOT, "tests", "wine", "hns.sh"), self.prefix)
        self._write_registry(r"System\CurrentControlSet\Control\Session Manager\Environment", "WEFT_HNS_EMULATOR", EMULATOR)  # for services
        self.environment |= {"HOME": "/root", "WINEPREFIX": self.prefix, "WINEDEBUG": "-all", "LC_ALL": "C.UTF-8", "WEFT_HNS_EMULATOR": EMULATOR,
                             "WINEDLLOVERRIDES": "mscoree=;mshtml=;winemenubuilder.exe=;winedbg.exe="}
        for flag in ("kubeconfig-file", "net-config-path", "subnet-file"):
            self.flags[flag] = windows_path(self.flags[flag])
        self.flags |= {"iface": self.address, "healthz-port": None, "healthz-ip": None}
        # One server and its services first: programs would else hand them their output.
        self.wine("cmd", "/c", "exit")
        emulator = self._start_to(self.program_log("hns"), our("flannelctl"), "hns", "emulate", f"--listen={EMULATOR}", f"--adapter=eth0={self.address}")
        self.emulator = daemon.Daemon(f"HNS emulator of {name}", emulator, self.program_log("hns"), self.on_sigterm)
        listening = f"listening on {EMULATOR}"
        command.wait_until(lambda: listening in daemon.text(self.program_log("hns")), lambda: f"the emulator: {self.emulator.last_words()}", timeout=30)

    def _write_registry(self, key, name, text):
        """Before the prefix's first program."""
        path = os.path.join(self.prefix, "system.reg")
        with open(path, encoding="utf-8", newline="") as file:
            lines = file.read().split("\n")
        quoted = [part.replace("\\", "\\\\") for part in (key, name, text)]
        at = next(number for number, line in enumerate(lines) if line.startswith(f"[{quoted[0]}]"))
        lines.insert(at + 1, f'"{quoted[1]}"="{quoted[2]}"')
        lease.write_text(path, "\n".join(lines))

    def kubeconfig(self, user, **cluster):
        """Of the cluster, with paths as Windows writes them."""
        authority = {"certificate-authority": windows_path(self.cluster.control.path("ca.crt"))}
        return json.dumps(self.cluster.control.kubeconfig(user, **authority | cluster))

    def administrator(self):
        """A kubeconfig for programs whose own permissions are not tested."""
        control = self.cluster.control
        return self.kubeconfig({"client-certificate": windows_path(control.path("admin.crt")), "client-key": windows_path(control.path("admin.key"))})

    def write_kubeconfig(self, user, **cluster):
        lease.write_text(self.path("kubeconfig"), self.kubeconfig(user, **cluster))

    @property
    def kind(self):
        return self.flavour

    def program(self):
        if self.flavour == "upstream":
            return peers.find("flanneld.exe")
        return our("flanneld", self.emulated_host)

    def command_line(self):
        ours = [] if self.flavour == "upstream" else ["--admin=none", f"--state-dir={windows_path(self.path('state'))}"]
        return [WINE, *super().command_line(), *ours]

    def drive(self, path):
        """A path on its drive C, given with slashes."""
        return os.path.join(self.prefix, "drive_c", path)

    def words(self, *words):
        variables = [f"{key}={value}" for key, value in self.environment.items()]
        return ["env", "-i", *variables, "/bin/sh", "-ec", '/usr/lib/wine/wineserver -p60 || true; exec "$@"', "sh", WINE, *words]

    def _start_to(self, log_path, *words):
        """A running program; its output is added to the log."""
        def start():
            with open(log_path, "a", encoding="utf-8") as log:
                return self.host.start(*self.words(*words), stdout=log, stderr=log)

        return start_in_wine(start, log_path)

    def _start_process(self, *words):
        return start_in_wine(lambda: super(Node, self)._start_process(*words), self.log_path())

    def wine(self, *words, stdin=None, check=True, **environment):
        """A program's standard output."""
        code, texts = self._run(words, stdin, environment)
        # Wine's own start-up fails without a word, once in thousands. On a busy machine it sometimes fails to start a second program; the CNI
        # plugin that needed it has made nothing yet.
        if code != 0 and (not any(texts) or all(word in "".join(texts) for word in ("fork/exec", "Internal error"))):
            print(f"   once more: {words[0]} ended with {' '.join(texts) or 'no word'}", flush=True)
            code, texts = self._run(words, stdin, environment)
        command.expect(not check or code == 0, f"{words[0]}: exit {code}: {' '.join(texts)[-400:]}")
        return texts[0]

    def _run(self, words, stdin, environment):
        """Exit code and both outputs. Through files: services that it starts keep a pipe open."""
        out, error = self.path("out"), self.path("error")
        line = self.words(*words)
        line[2:2] = [f"{key}={value}" for key, value in environment.items()]
        with open(out, "w", encoding="utf-8") as out_file, open(error, "w", encoding="utf-8") as error_file:
            process = self.host.start(*line, stdin=subprocess.PIPE, stdout=out_file, stderr=error_file)
            process.communicate(stdin or "", timeout=60)
        return process.returncode, [open(path, encoding="utf-8", errors="replace").read() for path in (out, error)]

    def hns(self, *words):
        """An answer of the emulator's."""
        return json.loads(self.wine(our("flannelctl"), "hns", "control", EMULATOR, *words))

    def endpoint(self, *words):
        """The output of `flannelctl hns endpoint`."""
        return self.wine(our("flannelctl"), "hns", "endpoint", *words)

    def reset(self, *flags, check=True):
        """The output of `flannelctl.exe reset`, or why it refuses."""
        program = our("flannelctl", self.emulated_host)
        return self.wine(program, "reset", "--admin=none", f"--state-dir={windows_path(self.path('state'))}", *flags, check=check)

    def network(self, name=NETWORK):
        return next((each for each in self.hns("dump")["networks"] if each["name"] == name), None)

    def use_powershell(self):
        """Gives the node a stand-in for PowerShell, which Wine lacks: upstream's host-gw uses it for routes and forwarding."""
        shutil.copy(peers.find("powershell.exe"), self.drive("windows/system32/powershell.exe"))
        self.environment["WEFT_POWERSHELL"] = windows_path(self.path("powershell.log"))
        self.environment["WINEDLLOVERRIDES"] += ";powershell.exe=n"

    def powershell_state(self):
        return json.loads(self.wine("powershell.exe", "-State"))

    def policies(self, kind):
        """Settings of the network's policies of a type."""
        network = self.network() or {"policies": []}
        return [each["Settings"] for each in network["policies"] if each["Type"] == kind]

    def table(self, family="ipv4"):
        """{subnet: (MAC, public IP)} as programmed into HNS."""
        routes = self.policies("RemoteSubnetRoute") if family == "ipv4" else []
        return {each["DestinationPrefix"]: (each["DistributedRouterMacAddress"], each["ProviderAddress"]) for each in routes}

    def subnet_env(self):
        path = self.path("subnet.env")
        if not os.path.exists(path):
            return {}
        with open(path, encoding="utf-8") as file:
            return dict(line.split("=", 1) for line in file.read().splitlines())

    def wait_ready(self, timeout=60):
        def ready():
            self.daemon.expect_running()
            return self.subnet_env()

        command.wait_until(ready, lambda: f"{self.name} is not ready: {self.last_words()}", timeout=timeout)

    def start_program(self, name, *words, program=None):
        """Another peer program next to flanneld.exe, until the node's end; `program`: where it lies."""
        process = self._start_to(self.program_log(name), program or peers.find(name), *words)
        self.programs.append(daemon.Daemon(f"{name} of {self.name}", process, self.program_log(name), self.on_sigterm))

    def program_log(self, name):
        return os.path.join(self.cluster.logs, f"{self.name}-{name}.log")

    def plugin(self, name, verb, config, container, namespace):
        """A CNI plugin run as the runtime runs it: its answer."""
        text = self.wine(peers.find(name), stdin=json.dumps(config), CNI_COMMAND=verb, CNI_CONTAINERID=container, CNI_NETNS=namespace,
                         CNI_IFNAME="eth0", CNI_PATH=windows_path(os.path.dirname(os.path.realpath(peers.find("host-local.exe")))))
        return json.loads(text) if text.strip() else None

    def write(self, name, text):
        lease.write_text(self.path(name), text)
        return windows_path(self.path(name))

    def ended(self):
        return [*super().ended(), *filter(None, (each.ended() for each in (*self.programs, self.emulator)))]

    def close(self):
        found = command.failures([self.down, *(each.stop for each in self.programs), self.emulator.stop])
        subprocess.run(["/usr/lib/wine/wineserver", "-k"], env={"WINEPREFIX": self.prefix, "HOME": "/root"}, check=False)
        found += command.failures([super().close])
        shutil.rmtree(self.prefix, ignore_errors=True)
        command.add_failures(None, found)


class Upstream(Node):
    """Upstream's flanneld.exe, unchanged."""

    flavour = "upstream"


class Weft(Node):
    """Ours: the Windows executable, through its own binding to the DLLs."""

    flavour = "weft.exe"
