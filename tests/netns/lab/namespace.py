"""A network namespace as a resource: made, used, deleted; leftovers of runs that were killed are removed at the next start."""

import contextlib
import ctypes
import itertools
import json
import os
import re
import signal

from . import command

CLONE_NEWNET, CLONE_NEWNS = 0x40000000, 0x20000
RESOLV_CONF = "/etc/resolv.conf"
PREFIX = "weft-t-"  # then the run's process id, a number, and a word
_libc = ctypes.CDLL(None, use_errno=True)
_numbers = itertools.count(1)


def _delete(name):
    for pid in command.run("ip", "netns", "pids", name, check=False).split():
        with contextlib.suppress(ProcessLookupError):
            os.kill(int(pid), signal.SIGKILL)
    command.run("ip", "netns", "delete", name, check=False)


def _ours(belongs):
    for line in command.run("ip", "netns", "list").splitlines():
        name = line.split()[0]
        match = re.fullmatch(PREFIX + r"(\d+)-.*", name)
        if match and belongs(int(match[1])):
            yield name


def delete_leftovers():
    """Namespaces of runs whose process is gone."""
    for name in list(_ours(lambda pid: not command.alive(pid))):
        _delete(name)


def delete_own():
    for name in list(_ours(lambda pid: pid == os.getpid())):
        _delete(name)


def hide_name_servers():
    """From this process and its children: flanneld rightly uses no lease that contains a name server of the machine, and in a wide network there is one.
    Only they can enter namespaces that are made from now on."""
    if _libc.unshare(CLONE_NEWNS) != 0:
        raise OSError(ctypes.get_errno(), "unshare")
    command.run("mount", "--make-rslave", "/")
    if os.path.exists(RESOLV_CONF):
        command.run("mount", "--bind", "/dev/null", RESOLV_CONF)


class Namespace:
    def __init__(self, word):
        self.name = f"{PREFIX}{os.getpid()}-{next(_numbers)}-{word}"
        command.run("ip", "netns", "add", self.name)
        self.ip("link set lo up")

    def close(self):
        _delete(self.name)

    def ip(self, *lines):
        """Runs ip commands, one a line, in one process; stops at the first that fails."""
        script = "\n".join(lines)
        command.run("ip", "-n", self.name, "-batch", "-", stdin=script)

    def show(self, *words):
        """ip -json WORDS as a value."""
        return json.loads(command.run("ip", "-n", self.name, "-json", *words) or "[]")

    def run(self, *words, **options):
        return command.run("ip", "netns", "exec", self.name, *words, **options)

    def start(self, *words, **options):
        return command.start("ip", "netns", "exec", self.name, *words, **options)

    def sysctl(self, **settings):
        """Keys with '_' between the parts of the path written as '__'."""
        with self.entered():
            for key, value in settings.items():
                with open("/proc/sys/" + key.replace("__", "/"), "w", encoding="ascii") as file:
                    file.write(str(value))

    def read(self, path):
        """A file of /proc/net or the like, as this namespace sees it."""
        with self.entered(), open(path.replace("/proc/net", "/proc/thread-self/net"), encoding="ascii") as file:
            return file.read()

    @contextlib.contextmanager
    def entered(self):
        """This thread inside the namespace: for sockets, which stay where they were made, and for /proc/sys/net."""
        with open("/proc/thread-self/ns/net", "rb") as outside, open(f"/run/netns/{self.name}", "rb") as inside:
            _set_namespace(inside)
            try:
                yield
            finally:
                _set_namespace(outside)

    def devices(self):
        return {link["ifname"]: link for link in self.show("-details", "-statistics", "link", "show")}


def _set_namespace(file):
    if _libc.setns(file.fileno(), CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), "setns")


def connect(a, a_device, b, b_device, mtu=1500):
    """A veth pair between two namespaces, both ends up."""
    command.run("ip", "link", "add", a_device, "netns", a.name, "mtu", str(mtu), "type", "veth",
                "peer", "name", b_device, "netns", b.name, "mtu", str(mtu))
    a.ip(f"link set {a_device} up")
    b.ip(f"link set {b_device} up")
