"""`quinion worker`: ingest the documents that servers hand over, on any host."""

import anyio
import typer

from quinion.engine import open_engine
from quinion.errors import BadSetting
from quinion.ingest.applications import ingestion
from quinion.ingest.applications.ingestion import ApplicationIngestion
from quinion.ingest.library import adder
from quinion.ingest.library.adder import DocumentAdder
from quinion.ingest.library.library import Library
from quinion.runtime_tuning import lower_priority
from quinion.servers.document_store import records
from quinion.settings import Settings
from quinion.store.factory import open_bucket
from quinion.telemetry.logs import configure
from quinion.telemetry.tracing import start_tracing


def run(settings: Settings) -> None:
    """Take documents from the queue until stopped.

    Raises:
        BadSetting: there is no database or no bucket.
    """
    if not settings.database or not settings.blobs_url:
        raise BadSetting(
            "A worker needs QUINION_DATABASE_URL, which has the queue, and QUINION_BLOBS_URL, from "
            "which it reads the files. Set both as the servers have them."
        )
    configure(settings.log_level, settings.log_format, log_requests=False)
    start_tracing(settings.otel_endpoint)
    lower_priority()
    anyio.run(_run, settings, settings.database, settings.blobs_url)


async def _run(settings: Settings, database: str, blobs: str) -> None:
    from quinion.queue.runner import Runner
    from quinion.queue.tasks import Tasks

    async with open_engine(settings) as engine:
        kinds = {
            ingestion.TASK: ApplicationIngestion(engine, records).do_task,
            adder.TASK: DocumentAdder(Library(engine)).do_task,
        }
        tasks = Tasks(database)
        await tasks.open()
        try:
            typer.echo("Waiting for documents. Press Ctrl-C to stop.")
            await Runner(tasks, open_bucket(blobs), kinds).serve()
        finally:
            with anyio.CancelScope(shield=True):
                await tasks.close()
