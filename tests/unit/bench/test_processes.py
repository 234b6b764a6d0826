import subprocess
import sys

from bench.processes import (
    SAMPLE_EVERY_S,
    measure_cpu_s,
    measure_embedding_s,
    measure_memory_mb,
    watch_memory,
)

MORE_MB = 40
GROWING = f"""
import time
input()
for size in ({MORE_MB // 2}, {MORE_MB}, 0):
    held = bytes([1]) * (size * 1_000_000)
    time.sleep({4 * SAMPLE_EVERY_S})
    del held
"""

SPENT_S = 0.3
TWO_THREADS = f"""
import threading, time
from quinion.runtime_tuning import lower_priority

done = threading.Barrier(3)

def work(prepare):
    prepare()
    while time.thread_time() < {SPENT_S}:
        pass
    done.wait()
    done.wait()

for prepare in (lower_priority, lambda: None):
    threading.Thread(target=work, args=(prepare,)).start()
done.wait()
print("done", flush=True)
input()
done.wait()
"""


def test_the_peak_is_the_maximum_of_all_samples() -> None:
    command = [sys.executable, "-c", GROWING]
    with subprocess.Popen(command, stdin=subprocess.PIPE) as child:
        before = measure_memory_mb(child.pid)
        with watch_memory(child.pid) as peak:
            child.communicate(b"\n")
    assert MORE_MB * 0.9 <= peak.megabytes - before <= MORE_MB * 1.5


def test_embedding_threads_are_identified_by_their_niceness() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", TWO_THREADS], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as child:
        assert child.stdout is not None
        assert child.stdout.readline()
        embedding_s, all_s = measure_embedding_s(child.pid), measure_cpu_s(child.pid)
        child.communicate(b"\n")
    assert SPENT_S * 0.8 <= embedding_s <= SPENT_S * 1.5
    assert all_s - embedding_s >= SPENT_S * 0.8
