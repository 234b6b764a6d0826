"""Metrics of worker processes, and of the memory of this process and theirs."""

from collections.abc import Iterable, Iterator

from quinion.telemetry.memory import measure_memory
from quinion.telemetry.metrics import Family
from quinion.workers.pool import Load


def measure_workers(loads: Iterable[Load]) -> Iterator[Family]:
    """Yield the metrics of pools of workers."""
    limits = Family("quinion_workers_limit", "gauge", "Largest number of workers, by kind.")
    workers = Family("quinion_workers", "gauge", "Running workers, by kind and state.")
    queue = Family("quinion_worker_queue_length", "gauge", "Jobs that wait for a worker.")
    pids: list[int] = []
    for load in loads:
        limits.add(load.limit, kind=load.kind)
        workers.add(load.busy, kind=load.kind, state="busy")
        workers.add(load.idle, kind=load.kind, state="idle")
        queue.add(load.waiting, kind=load.kind)
        pids += load.pids
    memory = Family("quinion_memory_bytes", "gauge", "Resident memory of processes.")
    memory.add(measure_memory() or 0, process="server")
    memory.add(sum(measure_memory(pid) or 0 for pid in pids), process="workers")
    yield from (limits, workers, queue, memory)
