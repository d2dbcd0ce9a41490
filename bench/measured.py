"""A measured program: the times of its log lines, its memory, its CPU time."""

import os
import re
import signal
import subprocess
import threading
import time

from lab import command


class Measured:
    """A child process in a namespace, started without a wrapper. Lines get a time stamp when they are read."""

    def __init__(self, where, *words, **environment):
        reading, writing = os.pipe()
        with where.entered():
            self.process = command.start(*words, stdout=writing, stderr=writing, stdin=subprocess.DEVNULL,
                                         env={"PATH": os.environ["PATH"], **environment})
        self.began = time.monotonic()
        os.close(writing)
        self.lines = []  # (seconds since began, time.time_ns(), text)
        self._changed = threading.Condition()
        self._ended = False
        threading.Thread(target=self._read, args=(reading,), daemon=True).start()

    def _read(self, descriptor):
        with os.fdopen(descriptor, errors="replace") as lines:
            for line in lines:
                stamp = time.monotonic() - self.began, time.time_ns(), line.rstrip()
                with self._changed:
                    self.lines.append(stamp)
                    self._changed.notify_all()
        with self._changed:
            self._ended = True
            self._changed.notify_all()

    def wait_for(self, pattern, timeout, after=0):
        """The first matching line from number `after`; Failure if the program ends before."""
        expression = re.compile(pattern)
        deadline = time.monotonic() + timeout
        with self._changed:
            while True:
                for stamp in self.lines[after:]:
                    if expression.search(stamp[2]):
                        return stamp
                after = len(self.lines)
                command.expect(not self._ended, f"{self.name()} ended: {self.last_line()}")
                command.expect(self._changed.wait(deadline - time.monotonic()),
                               f"{self.name()} did not log '{pattern}' within {timeout} s; last line: {self.last_line()}")

    def name(self):
        return os.path.basename(self.process.args[0])

    def last_line(self):
        return self.lines[-1][2] if self.lines else "none"

    def memory_mib(self):
        """(now, peak): resident memory, including the program's text."""
        with open(f"/proc/{self.process.pid}/status", encoding="ascii") as file:
            found = dict(re.findall(r"^(VmRSS|VmHWM):\s+(\d+) kB", file.read(), re.MULTILINE))
        return int(found["VmRSS"]) / 1024, int(found["VmHWM"]) / 1024

    def settled_memory_mib(self):
        """The same once it has not changed for two seconds: flanneld gives free memory back each second."""
        seen = None

        def settled():
            nonlocal seen
            before, seen = seen, self.memory_mib()
            return seen == before and seen

        return command.wait_until(settled, f"the memory of {self.name()} does not change", timeout=60, interval=2)

    def end(self, how=signal.SIGTERM):
        """(milliseconds in user mode, in the kernel, peak MiB). It may already have ended."""
        os.kill(self.process.pid, how)  # not through Popen, which would reap it without its usage
        for _ in range(1000):
            pid, status, usage = os.wait4(self.process.pid, os.WNOHANG)
            if pid:
                break
            time.sleep(0.01)
        else:
            os.kill(self.process.pid, signal.SIGKILL)
            _, status, usage = os.wait4(self.process.pid, 0)
        self.process.returncode = os.waitstatus_to_exitcode(status)
        return usage.ru_utime * 1e3, usage.ru_stime * 1e3, usage.ru_maxrss / 1024
