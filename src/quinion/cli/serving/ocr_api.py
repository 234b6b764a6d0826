"""`quinion serve ocr-api`: a local OCR endpoint for `mistral-ocr-mcp`."""

import sys

import anyio
import typer

from quinion.engine import check_ocr
from quinion.ingest.markdown import MarkdownReader
from quinion.servers.http import LOOPBACK, Site, serve_sites
from quinion.servers.ocr_api import NAME, build_app
from quinion.servers.ocr_api.uploads import open_files
from quinion.settings import Settings
from quinion.telemetry.logs import configure
from quinion.workers.kinds import MARKDOWN
from quinion.workers.metrics import measure_workers
from quinion.workers.pool import Workers

PORT = 3007


def run(settings: Settings, host: str | None, port: int | None) -> None:
    """Serve until stopped; on the loopback interface unless a host is given."""
    configure(settings.log_level, settings.log_format, log_requests=True)
    anyio.run(_serve, settings, host or LOOPBACK, PORT if port is None else port)


async def _serve(settings: Settings, host: str, port: int) -> None:
    check_ocr(settings)
    workers = Workers(
        settings.workers,
        kind=MARKDOWN,
        ocr_languages=settings.ocr_languages,
        ocr_engine=settings.ocr_engine,
    )
    try:
        with open_files() as files:
            reader = MarkdownReader(workers, ocr=settings.enable_ocr)
            app = build_app(settings, files, reader, lambda: measure_workers([workers.load]))
            await serve_sites([Site(NAME, app, host, port)], _print_address)
    finally:
        await workers.close()


async def _print_address(addresses: dict[str, str]) -> None:
    typer.echo(f"{NAME:16} {addresses[NAME]}/v1   (health: {addresses[NAME]}/health)")
    typer.echo(f"For mistral-ocr-mcp: MISTRAL_SERVER_URL={addresses[NAME]}")
    sys.stdout.flush()
