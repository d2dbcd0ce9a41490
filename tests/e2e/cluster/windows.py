"""A Windows node: a namespace with one Wine prefix, one HNS emulator that all of its programs share, and flanneld.exe."""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import time

from lab import command, daemon, lease, peers, topology

import start_up  # tests/wine

from . import member

EMULATOR = r"\\.\pipe\hns"  # of the prefix, as all of its pipes
WINE = "/usr/lib/wine/wine64"
NETWORK = "flannel.4096"


def windows_path(path):
    return "Z:" + path.replace("/", "\\")


def our(program, emulated_host=False):
    """A Windows program of the build."""
    return os.path.join(topology.ROOT, "build", "windows", "bin", program + ("_emulated_host" if emulated_host else "") + ".exe")


def start_in_wine(begin, log_path):
    """The process that `begin()` returns, once it has written to the end of `log_path`."""
    before = os.path.getsize(log_path) if os.path.exists(log_path) else 0

    def output():
        with open(log_path, "rb") as file:
            file.seek(before)
            return file.read().decode(errors="replace")

    process, text = start_up.start(begin, output, log_path, whole=False, timeout=10)
    expect_past_start_up(process, text, f"the program of {log_path}")
    return process


def run_in_wine(begin, folder, name, timeout=60):
    """Exit code and both outputs of the process that `begin(out, error)` returns. Through files: services that it starts keep a pipe open."""
    paths = [os.path.join(folder, each) for each in ("out", "error")]
    began = time.monotonic()

    def begin_again():
        with open(paths[0], "w", encoding="utf-8") as out, open(paths[1], "w", encoding="utf-8") as error:
            return begin(out, error)

    try:
        process, text = start_up.start(begin_again, lambda: "".join(map(daemon.text, paths)), name, whole=True, timeout=command.patience(timeout))
    except subprocess.TimeoutExpired:
        raise command.Failure(f"{name}: no end after {command.patience(timeout)} s") from None
    command.within(time.monotonic() - began, timeout, name)
    expect_past_start_up(process, text, name)
    return process.returncode, *map(daemon.text, paths)


def expect_past_start_up(process, text, name):
    if start_up.ended_in_start_up(process.poll(), text):
        raise command.PeerFailure(f"{name} ended twice in Wine's start-up, status {process.returncode}: {text[-400:] or 'without output'}")


class Node(member.Member):
    """`flavour`, whose flanneld.exe, may change while it is down, and so may `emulated_host`: ours uses the emulator's host, where HNS moves
    addresses and routes can be written, instead of Wine's. Those are separate programs (WEFT_EMULATED_HOST)."""

    emulated_host = False
    variables = {}  # of services
    on_sigterm = -signal.SIGTERM  # to Wine it is no word to the program

    def __init__(self, cluster, name):
        super().__init__(cluster, name)
        self.prefix = self.path("wine")
        self.programs = []
        self.touched = True  # the emulator is weft's
        command.run(os.path.join(topology.ROOT, "tests", "wine", "hns.sh"), self.prefix)
        for variable, text in ({"WEFT_HNS_EMULATOR": EMULATOR} | self.variables).items():
            self._write_registry(r"System\CurrentControlSet\Control\Session Manager\Environment", variable, text)
        self.environment |= {"HOME": "/root", "WINEPREFIX": self.prefix, "WINEDEBUG": "-all", "LC_ALL": "C.UTF-8", "WEFT_HNS_EMULATOR": EMULATOR,
                             "WINEDLLOVERRIDES": "mscoree=;mshtml=;winemenubuilder.exe=;winedbg.exe="}
        for flag in ("kubeconfig-file", "net-config-path", "subnet-file"):
            self.flags[flag] = windows_path(self.flags[flag])
        self.flags |= {"iface": self.address, "healthz-port": None, "healthz-ip": None}
        # One server and its services first: programs would else hand them their output.
        code, out, error = self._run(["cmd", "/c", "exit"])
        if code != 0:
            raise command.PeerFailure(f"Wine's services of {name} do not start, status {code}: {out} {error}")
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
        # In a folder of the node's, because sdnoverlay.exe writes its log where it starts.
        return ["env", "-i", *variables, "/bin/sh", "-ec", 'cd "$0"; /usr/lib/wine/wineserver -p60 || true; exec "$@"', self.prefix, WINE, *words]

    def _start_to(self, log_path, *words):
        """A running program; its output is added to the log."""
        def begin():
            with open(log_path, "a", encoding="utf-8") as log:
                return self.host.start(*self.words(*words), stdout=log, stderr=log)

        return start_in_wine(begin, log_path)

    def _start_process(self, *words):
        return start_in_wine(lambda: super(Node, self)._start_process(*words), self.log_path())

    def wine(self, *words, stdin=None, check=True, **environment):
        """A program's standard output."""
        code, out, error = self._run(words, stdin, environment)
        command.expect(not check or code == 0, f"{words[0]}: exit {code}: {f'{out} {error}'[-400:]}")
        return out

    def _run(self, words, stdin=None, environment=None):
        line = self.words(*words)
        line[2:2] = [f"{key}={value}" for key, value in (environment or {}).items()]

        def begin(out, error):
            process = self.host.start(*line, stdin=subprocess.PIPE, stdout=out, stderr=error)
            with contextlib.suppress(BrokenPipeError), process.stdin:
                process.stdin.write(stdin or "")
            return process

        return run_in_wine(begin, self.folder, words[0])

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

    @property
    def network_name(self):
        return "cbr0" if self.net_conf["Backend"]["Type"] == "host-gw" else self.device("ipv4")

    def network(self, name=None):
        """In HNS; by default flannel's."""
        return next((each for each in self.hns("dump")["networks"] if each["name"] == (name or self.network_name)), None)

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

    def subnet_file(self):
        return self.path("subnet.env")

    def subnet_env(self):
        path = self.subnet_file()
        if not os.path.exists(path):
            return {}
        with open(path, encoding="utf-8") as file:
            return dict(line.split("=", 1) for line in file.read().splitlines())

    def wait_ready(self, timeout=60):
        self.daemon.wait_until_started(self.subnet_env, lambda: f"{self.name} is not ready: {self.last_words()}", timeout)

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
