#!/usr/bin/env python3
"""When a sample is noisy."""
import unittest

import support  # noqa: F401
from lab import command
import cpu
import watch

QUIET = cpu.Usage(1.0, steal=0.01, foreign=0.01, idle=0.1)


class Gate:
    def __init__(self, idle):
        self.idle = idle

    def wait(self):
        return self.idle


class WatchTest(unittest.TestCase):
    def test_quiet(self):
        self.assertEqual(watch.disturbances(True, QUIET, QUIET), [])

    def test_each_reason_has_words(self):
        self.assertEqual(watch.disturbances(False, QUIET, QUIET), ["the machine was not idle before"])
        self.assertEqual(watch.disturbances(True, QUIET._replace(steal=0.05), QUIET), ["during: the host took 5% of the CPU time"])
        self.assertEqual(watch.disturbances(True, QUIET, QUIET._replace(foreign=0.5)), ["after: foreign processes used 50% of the CPU time"])

    def test_noisy_samples_are_counted(self):
        watching = watch.Watch(Gate(idle=False), after_seconds=0)
        sample = watching.measure(lambda: {"value": 3})
        self.assertTrue(sample.noisy)
        self.assertEqual((watching.samples, watching.noisy, sample.figure("value")), (1, 1, 3))

    def test_a_failure_is_measured_once_more_and_said(self):
        outcomes = [command.Failure("no end after 23 s"), {"value": 3}]

        def work():
            outcome = outcomes.pop(0)
            if isinstance(outcome, command.Failure):
                raise outcome
            return outcome

        sample = watch.Watch(Gate(idle=True), after_seconds=0).measure(work)
        self.assertEqual((sample.figure("value"), sample.disturbances[0]), (3, "it failed before: no end after 23 s"))
        outcomes = [command.Failure("one"), command.Failure("two")]
        with self.assertRaisesRegex(command.Failure, "two"):
            watch.Watch(Gate(idle=True), after_seconds=0).measure(work)

    def test_in_a_smoke_run_a_failure_is_a_failure(self):
        def work():
            raise command.Failure("corrupt")

        calls = []
        with self.assertRaisesRegex(command.Failure, "corrupt"):
            watch.Watch(Gate(idle=True), after_seconds=0, repeat_failed=False).measure(lambda: (calls.append(1), work()))
        self.assertEqual(len(calls), 1)

    def test_without_bytes_no_cpu_seconds_for_a_gigabyte(self):
        sample = watch.Watch(Gate(idle=True), after_seconds=0).measure(lambda: {"value": 3})
        self.assertIsNone(sample.figure("cpu_s_per_gb"))


if __name__ == "__main__":
    unittest.main()
