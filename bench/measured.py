"""A program that is measured: when it said what, its memory, the processor's time it took."""

import os
import re
import signal
import subprocess
import threading
import time

from lab import command


class Measured:
    """Started in a namespace, without anything in between. Lines are stamped as they are read."""

    def __init__(self, where, *words, **environment):
        reading, writing = os.pipe()
        with where.entered():
            self.process = command.start(*words, stdout=writing, stderr=writing, stdin=subprocess.DEVNULL,
                                         env={"PATH": os.environ["PATH"], **environment})
        self.began = time.monotonic()
        os.close(writing)
        self.lines = []  # (seconds since began, time.time_ns(), text)
        self._news = threading.Condition()
        self._ended = False
        threading.Thread(target=self._read, args=(reading,), daemon=True).start()

    def _read(self, descriptor):
        with os.fdopen(descriptor, errors="replace") as lines:
            for line in lines:
                stamp = time.monotonic() - self.began, time.time_ns(), line.rstrip()
                with self._news:
                    self.lines.append(stamp)
                    self._news.notify_all()
        with self._news:
            self._ended = True
            self._news.notify_all()

    def wait_for(self, pattern, timeout, after=0):
        """The first line from number `after` on that matches; Failure when the program ends before."""
        wanted = re.compile(pattern)
        deadline = time.monotonic() + timeout
        with self._news:
            while True:
                for stamp in self.lines[after:]:
                    if wanted.search(stamp[2]):
                        return stamp
                after = len(self.lines)
                command.expect(not self._ended, f"{self.name()} ended: {self.last_words()}")
                command.expect(self._news.wait(deadline - time.monotonic()),
                               f"{self.name()} did not say '{pattern}' within {timeout} s; its last words: {self.last_words()}")

    def name(self):
        return os.path.basename(self.process.args[0])

    def last_words(self):
        return self.lines[-1][2] if self.lines else "none"

    def memory_mib(self):
        """(now, at most): resident, the program's own text included."""
        with open(f"/proc/{self.process.pid}/status", encoding="ascii") as file:
            found = dict(re.findall(r"^(VmRSS|VmHWM):\s+(\d+) kB", file.read(), re.MULTILINE))
        return int(found["VmRSS"]) / 1024, int(found["VmHWM"]) / 1024

    def end(self, how=signal.SIGTERM):
        """(milliseconds in user mode, in the kernel, most MiB). It may have ended by itself."""
        os.kill(self.process.pid, how)  # not through Popen, which would reap it without telling
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
