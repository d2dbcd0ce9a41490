#!/usr/bin/env python3
"""CPU accounting: /proc/stat, foreign processes, seconds for a gigabyte."""
import os
import subprocess
import sys
import unittest

import support  # noqa: F401
import cpu

TICK = 1 / cpu.TICKS


def stat(pid, parent, name="x", flags=0, ticks=(0, 0, 0, 0)):
    user, system, child_user, child_system = ticks
    return f"{pid} ({name}) S {parent} 1 1 0 -1 {flags} 0 0 0 0 {user} {system} {child_user} {child_system} 20 0 1 0 100 0 0"


class CpuTest(unittest.TestCase):
    def test_busy_time_is_without_idle_and_steal(self):
        times = cpu.parse_times("cpu  100 20 30 4000 50 6 7 80 9 1")
        self.assertAlmostEqual(times.busy, (100 + 20 + 30 + 6 + 7) * TICK)  # guest time, 9 and 1, is in user and nice
        self.assertAlmostEqual(times.steal, 80 * TICK)
        self.assertAlmostEqual(times.idle, 4050 * TICK)

    def test_a_name_may_hold_spaces_and_parentheses(self):
        found = cpu.parse_process(stat(7, 3, name="a) (b", ticks=(1, 2, 3, 4)))
        self.assertEqual((found.pid, found.parent, found.kernel), (7, 3, False))
        self.assertAlmostEqual(found.seconds, 10 * TICK)

    def test_children_and_kernel_threads_are_not_foreign(self):
        found = [cpu.parse_process(text) for text in (
            stat(1, 0, ticks=(1, 0, 0, 0)), stat(50, 1, ticks=(100, 0, 0, 0)), stat(51, 50, ticks=(200, 0, 0, 0)),
            stat(52, 51, ticks=(400, 0, 0, 0)), stat(2, 0, flags=cpu.KERNEL_THREAD, ticks=(800, 0, 0, 0)),
            stat(60, 1, ticks=(3, 0, 0, 0)))]
        self.assertAlmostEqual(cpu.foreign_seconds(found, 50), 4 * TICK)

    def test_the_end_of_a_foreign_process_changes_nothing(self):
        before = [cpu.parse_process(stat(60, 1, ticks=(3, 0, 0, 0))), cpu.parse_process(stat(61, 60, ticks=(5, 0, 0, 0)))]
        after = [cpu.parse_process(stat(60, 1, ticks=(3, 0, 5, 0)))]
        self.assertEqual(cpu.foreign_seconds(before, 50), cpu.foreign_seconds(after, 50))

    def test_usage_is_in_shares_of_the_machine(self):
        before = cpu.Snapshot(cpu.Times(busy=10, steal=1, idle=100), foreign=5)
        after = cpu.Snapshot(cpu.Times(busy=13, steal=2, idle=104), foreign=5.4)
        usage = cpu.usage(before, after)
        self.assertAlmostEqual(usage.busy_seconds, 2.6)  # 3, of which foreign processes used 0.4
        self.assertAlmostEqual(usage.steal, 1 / 8)
        self.assertAlmostEqual(usage.foreign, 0.05)
        self.assertAlmostEqual(usage.idle, 0.5)

    def test_seconds_for_a_gigabyte(self):
        self.assertAlmostEqual(cpu.seconds_per_gigabyte(3, 6e9), 0.5)

    def test_the_work_of_a_child_is_busy_and_not_foreign(self):
        before = cpu.snapshot()
        process = subprocess.Popen([sys.executable, "-c", "import time\nwhile time.process_time() < 0.3: pass"])
        process.wait()
        after = cpu.snapshot()
        self.assertGreater(cpu.usage(before, after).busy_seconds, 0.2)
        found = cpu.processes()
        own = next(each for each in found if each.pid == os.getpid())
        self.assertAlmostEqual(cpu.foreign_seconds(found, -1) - cpu.foreign_seconds(found, os.getpid()), own.seconds, delta=0.05)


if __name__ == "__main__":
    unittest.main()
