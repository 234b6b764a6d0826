"""How many documents a command has ingested at once."""

from quinion.settings import Settings

PER_WORKER = 4
"""For each worker on any host: those that it does at a time, and one that waits for it."""
MOST = 256
"""More would fill the bucket with files that wait."""


async def choose_at_once(settings: Settings, here: int) -> int:
    """Choose how many documents to ingest at once; `here` is for one engine without workers.

    Raises:
        StoreUnavailable: the queue for workers does not answer.
    """
    if not settings.database or not settings.blobs_url:
        return here
    from quinion.queue.tasks import Tasks

    tasks = Tasks(settings.database)
    await tasks.open()
    try:
        return min(max(here, PER_WORKER * await tasks.count_workers()), MOST)
    finally:
        await tasks.close()
