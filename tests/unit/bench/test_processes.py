import subprocess
import sys

from bench.processes import SAMPLE_EVERY_S, measure_memory_mb, watch_memory

MORE_MB = 40
GROWING = f"""
import time
input()
for size in ({MORE_MB // 2}, {MORE_MB}, 0):
    held = bytes([1]) * (size * 1_000_000)
    time.sleep({4 * SAMPLE_EVERY_S})
    del held
"""


def test_the_peak_is_the_highest_of_all_moments_whatever_came_before_and_after() -> None:
    command = [sys.executable, "-c", GROWING]
    with subprocess.Popen(command, stdin=subprocess.PIPE) as child:
        before = measure_memory_mb(child.pid)
        with watch_memory(child.pid) as peak:
            child.communicate(b"\n")
    assert MORE_MB * 0.9 <= peak.megabytes - before <= MORE_MB * 1.5
