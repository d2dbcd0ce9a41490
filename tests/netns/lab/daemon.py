"""A program that runs until the test ends it. An end of its own, another exit code than it should have, or a defect that it reports of
itself fails the test."""

import signal

from . import command


class Daemon:
    """`process`, started just now, called `name` in failures; `log`: the path of its standard error, if that is a file.

    `on_sigterm`: its exit code after SIGTERM. `peer`: not weft's; until it has started, all that is wrong with it is a PeerFailure."""

    def __init__(self, name, process, log=None, on_sigterm=0, peer=False):
        self.name, self.process, self.log, self.on_sigterm, self.peer = name, process, log, on_sigterm, peer

    def last_words(self):
        return last_line(self.log) if self.log else "it has no log"

    def ended(self):
        """Why that it runs no more is a failure; "" while it runs."""
        code = self.process.poll()
        return "" if code is None else f"{self.name} ended by itself with {in_words(code)}: {self.last_words()}"

    def expect_running(self):
        if self.process.poll() is not None:
            raise self._failure(self.ended())

    def _failure(self, text):
        return (command.PeerFailure if self.peer else command.Failure)(text)

    def wait_until_started(self, started, what, timeout):
        def check():
            self.expect_running()
            return started()

        command.wait_until(check, what, timeout, peer=self.peer)
        self.peer = False

    def report(self):
        found = command.report(text(self.log)) if self.log else ""
        return f"{self.name} reports a defect of its own:\n{found}" if found else ""

    def stop(self, how=signal.SIGTERM, timeout=10):
        """Ends it; its exit code. SIGKILL simulates a crash. A failure lists everything that was wrong."""
        found = [self.ended()]
        if not found[0]:
            try:
                code = command.stop(self.process, how, timeout)
                expected = self.on_sigterm if how == signal.SIGTERM else -how
                if code != expected:
                    found.append(f"{self.name} ended with {in_words(code)} after {how.name}, not with {in_words(expected)}: {self.last_words()}")
            except command.Failure as failure:
                found.append(f"{self.name}: {failure}")
        self._judge(found)
        return self.process.returncode

    def expect_exit(self, code, what, timeout=20):
        """Waits until it ends by itself, with this exit code, as the test expects."""
        command.wait_until(lambda: self.process.poll() is not None, lambda: f"{what}: {self.name} does not end: {self.last_words()}", timeout=timeout)
        found = []
        if self.process.returncode != code:
            found.append(f"{what}: {self.name} ended with {in_words(self.process.returncode)}, not with {in_words(code)}: {self.last_words()}")
        self._judge(found)

    def _judge(self, found):
        found = [*filter(None, [*found, self.report()])]
        if found:
            raise self._failure("\n".join(found))


def text(log):
    with open(log, encoding="utf-8", errors="replace") as file:
        return file.read()


def last_line(log):
    lines = text(log).strip().splitlines()
    return lines[-1] if lines else "it printed nothing"


def in_words(code):
    return f"exit code {code}" if code >= 0 else f"signal {signal.Signals(-code).name}"
