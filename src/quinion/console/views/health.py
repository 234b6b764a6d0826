"""Health: servers, sizes, processes and memory, calls of clients, warnings, checks and backups."""

import logging
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from starlette.background import BackgroundTask
from starlette.responses import FileResponse, Response

from quinion import __version__
from quinion.concurrency import in_thread
from quinion.console.calls import CLIENT, Answer, Calls
from quinion.console.rendering import View
from quinion.errors import QuinionError
from quinion.home import measure_home
from quinion.installation import check_programs
from quinion.servers import doclibrary, document_store
from quinion.settings import Settings
from quinion.telemetry.metrics import Family

KEPT_CALLS, KEPT_WARNINGS = 30, 20
PARTS_OF_HOME = {
    "store": "text, vectors, keyword index",
    "chroma": "mirror for other programs",
    "originals": "copies of ingested files",
    "uploads": "files uploaded in the console",
    "words": "words of pages with their boxes",
    "pictures": "images of pages, made again when missing",
    "models": "embedding model",
    "backups": "archives that were not sent yet",
    "library": "documents of the library",
    "files": "registry, settings, logs",
}
"""Folders of a home, with what they hold."""

Measure = Callable[[], Iterable[Family]]
"""Yields the metrics of all servers, and of the engine."""


class RecentLog(logging.Handler):
    """Keeps the last calls of clients and the last warnings, from when the console is opened on."""

    def __init__(self) -> None:
        super().__init__(logging.INFO)
        self.calls: deque[Answer] = deque(maxlen=KEPT_CALLS)
        self.warnings: deque[Answer] = deque(maxlen=KEPT_WARNINGS)

    def emit(self, record: logging.LogRecord) -> None:
        """Keep a record, if it is one of these."""
        time = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="seconds")
        fields: Mapping[str, Any] | None = getattr(record, "fields", None)
        if fields is not None and "tool" in fields:
            if not str(fields.get("client", "")).startswith(CLIENT.name):
                self.calls.appendleft({"time": time, **fields})
        elif record.levelno >= logging.WARNING:
            level = record.levelname.lower()
            self.warnings.appendleft({"time": time, "level": level, "text": record.getMessage()})


class Health:
    """The view of the engine's health, checks of the data, and backups."""

    def __init__(self, settings: Settings, calls: Calls, measure: Measure, log: RecentLog) -> None:
        self._settings = settings
        self._calls = calls
        self._measure = measure
        self._log = log

    async def show(self) -> View:
        """Show all that is known without a check."""
        samples = await in_thread(lambda: list(_read(self._measure())))
        status = await self._calls.call(doclibrary.NAME, "get_library_status", {})
        servers: dict[str, dict[str, float]] = {}
        tools: dict[tuple[str, str], Answer] = {}
        for name, labels, value in samples:
            server, tool = labels.get("server", ""), labels.get("tool", "")
            if name in {"quinion_documents", "quinion_chunks"}:
                servers.setdefault(server, {})[name.removeprefix("quinion_")] = value
            elif name == "quinion_calls_active":
                servers.setdefault(server, {})["active"] = value
            elif name == "quinion_calls_total":
                _count(tools, server, tool)["calls"] += value
            elif name == "quinion_call_errors_total":
                _count(tools, server, tool)["errors"] += value
            elif name == "quinion_call_duration_seconds_sum":
                _count(tools, server, tool)["seconds"] += value
        engine: list[Answer] = [
            {"name": name.removeprefix("quinion_"), "labels": dict(labels), "value": value}
            for name, labels, value in samples
            if name.startswith(("quinion_workers", "quinion_memory", "quinion_mirror"))
        ]
        return View(
            "health.html",
            "Health",
            {
                "version": __version__,
                "home": str(self._settings.home),
                "model": status["embedding"],
                "servers": [{"name": name, **values} for name, values in servers.items()],
                "tools": sorted(tools.values(), key=lambda one: -one["calls"]),
                "engine": engine,
                "memory": {
                    one["labels"]["process"]: one["value"]
                    for one in engine
                    if one["name"] == "memory_bytes"
                },
                "calls": list(self._log.calls),
                "warnings": list(self._log.warnings),
            },
        )

    async def check(self, names: Iterable[str]) -> View:
        """Check the data of all servers as `quinion verify` does, and what is installed."""
        found = []
        for name in names:
            try:
                checked = await self._calls.call(name, "verify", {})
            except QuinionError as error:
                checked = {"records": 0, "problems": [error.message], "warnings": []}
            found.append({"server": name, **checked})
        findings = await in_thread(lambda: list(check_programs(self._settings)))
        return View(
            "checked.html",
            "Checked",
            {"checks": found, "findings": [asdict(finding) for finding in findings]},
        )

    async def measure(self) -> View:
        """Measure the folders of the home on the disk."""
        sizes = await in_thread(measure_home, self._settings.home)
        ordered = sorted(sizes.items(), key=lambda one: -one[1])
        return View(
            "sizes.html",
            "Sizes",
            {
                "total": sum(sizes.values()),
                "sizes": [
                    {"name": name, "what": PARTS_OF_HOME.get(name, ""), "bytes": size}
                    for name, size in ordered
                ],
            },
        )

    async def back_up(self) -> str:
        """Write a backup of the home and return the name of its archive."""
        answer = await self._calls.call(document_store.NAME, "back_up", {})
        return Path(answer["path"]).name

    async def send_backup(self, name: str) -> Response:
        """Send an archive and delete it, once.

        Raises:
            BackupMissing: there is no archive of that name.
        """
        folder = self._settings.home / "backups"
        path = folder / name
        is_archive = path.parent == folder and path.suffix == ".tar"
        if not is_archive or not await in_thread(path.is_file):
            raise BackupMissing(f"There is no backup {name!r}. It is sent once; make another.")
        return FileResponse(
            path,
            media_type="application/x-tar",
            filename=name,
            background=BackgroundTask(path.unlink, missing_ok=True),
        )


class BackupMissing(QuinionError):
    code = "backup_not_found"


def _read(families: Iterable[Family]) -> Iterable[tuple[str, Mapping[str, str], float]]:
    for family in families:
        for suffix, labels, value in family.samples:
            if suffix != "_bucket":
                yield f"{family.name}{suffix}", labels, value


def _count(tools: dict[tuple[str, str], Answer], server: str, tool: str) -> Answer:
    empty = {"server": server, "tool": tool, "calls": 0.0, "errors": 0.0, "seconds": 0.0}
    return tools.setdefault((server, tool), empty)
