"""Sweep of the queue: gives back the tasks of workers that died, and removes what is left over."""

import logging
from datetime import UTC, datetime, timedelta

import anyio
from procrastinate.jobs import Job, Status

from quinion.concurrency import in_thread
from quinion.errors import ExtractionFailed, StoreUnavailable
from quinion.queue.tasks import ALIVE_S, QUEUE, Tasks
from quinion.store.bucket import Bucket

log = logging.getLogger(__name__)

TRIES = 3
"""Tries of a task. A file that kills its workers must not do so for ever."""
INCOMING = "incoming"
"""Folder of the bucket for files that wait for a worker."""
KEPT_FOR = timedelta(days=1)
"""Age of what nobody waits for any more."""


async def give_back(tasks: Tasks) -> int:
    """Give the jobs of dead workers back to the queue, or fail their tasks; return their number.

    One process does so at a time.
    """
    async with tasks.alone() as is_alone:
        if not is_alone:
            return 0
        with tasks.failures():
            jobs = await tasks.app.job_manager.get_stalled_jobs(
                queue=QUEUE, seconds_since_heartbeat=ALIVE_S
            )
        found = list(jobs)
        for job in found:
            await repeat(tasks, job)
        return len(found)


async def repeat(tasks: Tasks, job: Job) -> None:
    """Give the job of a dead worker back to the queue, or fail its task after three tries."""
    assert job.id is not None
    id_ = str(job.task_kwargs["task"])
    failures = await tasks.count_failure(id_)
    if failures < TRIES:
        log.warning("A worker died at try %d of a document; another worker repeats it", failures)
        with tasks.failures():
            await tasks.app.job_manager.retry_job(job)
        return
    task = await tasks.read(id_)
    name = task.path.rpartition("/")[2] if task else "the file"
    error = ExtractionFailed(
        f"{name} could not be ingested: {TRIES} workers died while they had it. It may need more "
        "memory than a worker has; look into their logs, or split the document."
    )
    log.error("%s", error)
    await tasks.finish(id_, describe_error(error))
    with tasks.failures():
        await tasks.app.job_manager.finish_job_by_id_async(job.id, Status.FAILED, delete_job=True)


async def remove_leftovers(tasks: Tasks, bucket: Bucket) -> None:
    """Remove tasks and incoming files that are too old for anyone to wait for them."""
    before = datetime.now(UTC) - KEPT_FOR
    await tasks.remove_older(KEPT_FOR)
    try:
        for key, written in await in_thread(lambda: list(bucket.list(INCOMING))):
            if written < before and await tasks.read(key.rpartition("/")[2]) is None:
                await in_thread(bucket.delete, key)
    except StoreUnavailable as error:
        log.warning("Files that no task needs are not deleted yet: %s", error)


async def drop_incoming(bucket: Bucket, id_: str) -> None:
    """Delete the file of a task that has ended; one that stays is removed a day later."""
    with anyio.CancelScope(shield=True):
        try:
            await in_thread(bucket.delete, f"{INCOMING}/{id_}")
        except StoreUnavailable as error:
            log.warning("The file of a task that has ended is not deleted yet: %s", error)


def describe_error(error: Exception) -> dict[str, dict[str, str]]:
    """Describe the error of a task as its outcome."""
    return {"error": {"type": type(error).__name__, "message": str(error)}}
