"""A small cluster under load while its parts are killed, and the check of what it acknowledged.

Servers behind nginx, workers and a database run as processes. Clients ingest documents, search,
index notes and delete them. Every few seconds one part is killed and started again. At the end all
that was acknowledged must be there, once and whole.
"""

import json
import random
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
import httpx2

from quinion.engine import Engine, open_engine
from quinion.ingest.folders.records import IndexCollections
from quinion.ingest.source import hash_file
from quinion.queue.tasks import Tasks
from quinion.servers.document_store.check import find_problems
from quinion.servers.document_store.records import CHUNKS, REGISTRY
from quinion.settings import Settings
from quinion.store.base import Selector
from tests.cluster.processes import Process
from tests.documents import PROSE, text_pdf
from tests.doors.asking import HEADERS, META, parse
from tests.nginx_server import Nginx, find_port, nginx
from tests.postgres_server import PostgresServer, execute, postgres_server

DOCUMENT_STORE, DOCVEC = 3002, 3004
STARTING_S = 180.0
TIMEOUT_S = 120.0
DOWN_S = 1.0
"""How long a killed part stays away."""
GIVEN_UP = {400, 404, 502, 503, 504}
"""Answers of HTTP that a client has to expect while servers are killed."""


@dataclass(frozen=True)
class Size:
    servers: int
    workers: int
    clients: int
    seconds: float
    kill_each_s: float


@dataclass
class Result:
    """What happened: calls by outcome, kills by part, acknowledged documents, and problems."""

    calls: Counter[str] = field(default_factory=Counter)
    kills: Counter[str] = field(default_factory=Counter)
    errors: Counter[str] = field(default_factory=Counter)
    documents: dict[str, tuple[str, str]] = field(default_factory=dict)
    """Application and hash of acknowledged documents, by id."""
    notes: dict[str, bool] = field(default_factory=dict)
    """Notes whose last acknowledged change left them in the index, or not."""
    problems: list[str] = field(default_factory=list)

    def lines(self) -> list[str]:
        return [
            f"calls: {dict(self.calls)}",
            f"documented errors: {dict(self.errors.most_common())}",
            f"kills: {dict(self.kills)}",
            f"acknowledged documents: {len(self.documents)}, notes: {len(self.notes)}",
        ]


class Cluster:
    """The processes of a cluster, and its settings."""

    def __init__(self, size: Size, folder: Path, models: Path, stack: ExitStack) -> None:
        self.folder = folder
        self._models = models
        self._stack = stack
        self.database: PostgresServer = stack.enter_context(postgres_server())
        self._variables = {
            "QUINION_DATABASE_URL": self.database.new_database(),
            "QUINION_BLOBS_URL": f"file://{folder}/shared",
            "QUINION_WORKERS": "1",
            "QUINION_LOG_LEVEL": "warning",
        }
        addresses: dict[int, list[int]] = {DOCUMENT_STORE: [], DOCVEC: []}
        self.servers = []
        for number in range(size.servers):
            ports = {port: find_port() for port in addresses}
            for port, mine in ports.items():
                addresses[port].append(mine)
            self.servers.append(self._start_server(number, ports))
        self.workers = [self._start(f"worker-{n}", ["worker"]) for n in range(size.workers)]
        place = folder / "nginx"
        place.mkdir()
        self.nginx: Nginx = stack.enter_context(nginx(place, addresses))

    @property
    def settings(self) -> Settings:
        given = {**self._variables, "QUINION_HOME": str(self.folder / "check")}
        return Settings.from_environment(given).model_copy(update={"models": self._models})

    async def wait_until_ready(self) -> None:
        """Wait for all servers and workers."""
        url = self._variables["QUINION_DATABASE_URL"]
        with anyio.fail_after(STARTING_S):
            async with httpx2.AsyncClient(verify=False) as http:
                for server in self.servers:
                    await _wait_for_health(http, server)
            tasks = Tasks(url)
            await tasks.open()
            while await tasks.count_workers() < len(self.workers):  # noqa: ASYNC110
                await anyio.sleep(0.2)
            await tasks.close()

    def kill_one(self, dice: random.Random) -> str:
        """Kill a part, and start it again; return its kind."""
        kinds: dict[str, Callable[[random.Random], None]] = {
            "server": lambda dice: _restart(dice.choice(self.servers)),
            "worker": lambda dice: _restart(dice.choice(self.workers)),
            "nginx": lambda _: self._restart_nginx(),
            "connections": lambda _: self._close_connections(),
            "database": lambda _: self._restart_database(),
        }
        kind = dice.choice(list(kinds))
        kinds[kind](dice)
        return kind

    def _start_server(self, number: int, ports: dict[int, int]) -> Process:
        server = self._start(
            f"server-{number}",
            ["serve", "document-store", "docvec", "--host", "127.0.0.1"],
            DOCUMENT_STORE_PORT=str(ports[DOCUMENT_STORE]),
            DOCVEC_PORT=str(ports[DOCVEC]),
        )
        server.port = ports[DOCUMENT_STORE]
        return server

    def _start(self, name: str, command: list[str], **variables: str) -> Process:
        home = self.folder / name / "home"
        home.mkdir(parents=True)
        (home / "models").symlink_to(self._models)
        process = Process(self.folder, name, command, {**self._variables, **variables})
        self._stack.callback(process.kill)
        return process

    def _restart_nginx(self) -> None:
        self.nginx.process.kill()
        self.nginx.process.wait()
        time.sleep(DOWN_S)
        self.nginx.start()

    def _close_connections(self) -> None:
        execute(
            self.database.url,
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'",
        )

    def _restart_database(self) -> None:
        self.database.stop()
        time.sleep(DOWN_S)
        self.database.start()


def _restart(process: Process) -> None:
    process.kill()
    time.sleep(DOWN_S)
    process.start()


async def _wait_for_health(http: httpx2.AsyncClient, server: Process) -> None:
    while True:
        try:
            if (await http.get(f"http://127.0.0.1:{server.port}/health")).status_code == 200:
                return
        except httpx2.HTTPError:
            assert server.process.poll() is None, server.log.read_text()
        await anyio.sleep(0.2)


class Clients:
    """Clients of the cluster, over the stateless protocol."""

    def __init__(self, cluster: Cluster, result: Result) -> None:
        self._ports = cluster.nginx.ports
        self._folder = cluster.folder / "files"
        self._folder.mkdir()
        self._result = result

    async def run(self, count: int, seconds: float) -> None:
        """Run the clients; calls in progress at the end are waited for."""
        until = time.monotonic() + seconds
        limits = httpx2.Limits(max_connections=None)
        async with (
            httpx2.AsyncClient(timeout=TIMEOUT_S, verify=False, limits=limits) as http,
            anyio.create_task_group() as group,
        ):
            self._http = http
            for number in range(count):
                work = [self._ingest, self._search, self._index, self._search][number % 4]
                group.start_soon(work, number, until)

    async def _ingest(self, number: int, until: float) -> None:
        count = 0
        while time.monotonic() < until:
            count += 1
            file = self._folder / f"{number}-{count}.pdf"
            text = f"Letter {count} of client {number}. {PROSE}"
            await anyio.to_thread.run_sync(text_pdf, file, text, text[::-1])
            ref = f"CLUSTER/{number}/{count % 7}"
            while time.monotonic() < until:  # as a client does: the same call until it is answered
                arguments = {"file_path": str(file), "application_ref": ref}
                answer = await self._call(DOCUMENT_STORE, "ingest_document", arguments)
                if answer and answer.get("status") in {"success", "already_ingested"}:
                    self._result.documents[answer["document_id"]] = ref, hash_file(file)
                    break
                await anyio.sleep(0.2)

    async def _search(self, number: int, until: float) -> None:
        dice = random.Random(number)
        while time.monotonic() < until:
            words = " ".join(dice.sample(PROSE.split(), 4))
            arguments = {"query": words, "mode": dice.choice(["semantic", "hybrid"])}
            await self._call(DOCUMENT_STORE, "search_application_docs", arguments)
            await anyio.sleep(0.3)

    async def _index(self, number: int, until: float) -> None:
        """Index notes and delete them again."""
        count = 0
        while time.monotonic() < until:
            count += 1
            file = self._folder / f"{number}-{count % 5}.md"
            await anyio.Path(file).write_text(f"# Note {count} of client {number}\n\n{PROSE}\n")
            for tool, name, is_there in (
                ("index_file", "file_path", True),
                ("delete_file", "source_file", False),
            ):
                self._result.notes.pop(str(file), None)  # not known until it is acknowledged
                answer = await self._call(DOCVEC, tool, {name: str(file)})
                if answer and answer.get("success"):
                    self._result.notes[str(file)] = is_there
                if count % 3 == 0:
                    break  # it stays

    async def _call(self, port: int, tool: str, arguments: dict[str, Any]) -> dict[str, Any] | None:
        """Call a tool; an error that is not documented is a problem."""
        params = {"name": tool, "arguments": arguments, "_meta": META}
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        headers = {**HEADERS, "Mcp-Method": "tools/call", "Mcp-Name": tool}
        result = self._result
        try:
            reply = await self._http.post(
                f"http://127.0.0.1:{self._ports[port]}/mcp",
                headers=headers,
                content=json.dumps(body),
            )
            answer: dict[str, Any] = {}
            if reply.status_code == httpx2.codes.OK:
                answer = parse(reply).get("result", {}).get("structuredContent", {})
        except (httpx2.HTTPError, IndexError, ValueError) as error:  # the stream was cut
            result.calls["connection lost"] += 1
            result.errors[type(error).__name__] += 1
            return None
        if reply.status_code in GIVEN_UP:
            result.calls["refused"] += 1
            result.errors[f"HTTP {reply.status_code}"] += 1
            return None
        error_type = answer.get("error_type") or answer.get("error")
        if error_type:
            result.calls["error"] += 1
            result.errors[str(error_type)[:60]] += 1
            return None
        if reply.status_code != httpx2.codes.OK or not answer:
            result.problems.append(f"{tool}: {reply.status_code} {reply.text[-300:]}")
            return None
        result.calls["answered"] += 1
        return answer


@contextmanager
def open_cluster(size: Size, folder: Path, models: Path) -> Iterator[Cluster]:
    """Start a cluster, and stop it at the end."""
    with ExitStack() as stack:
        yield Cluster(size, folder, models, stack)


async def measure(cluster: Cluster, size: Size) -> Result:
    """Run the clients while parts are killed, then check what was acknowledged."""
    result = Result()
    await cluster.wait_until_ready()
    dice = random.Random(size.servers)
    until = time.monotonic() + size.seconds

    async def kill() -> None:
        while time.monotonic() < until - size.kill_each_s / 2:
            await anyio.sleep(size.kill_each_s)
            result.kills[await anyio.to_thread.run_sync(cluster.kill_one, dice)] += 1

    async with anyio.create_task_group() as group:
        group.start_soon(kill)
        group.start_soon(Clients(cluster, result).run, size.clients, size.seconds)
    async with open_engine(cluster.settings) as engine:
        result.problems += await check(engine, result)
    return result


async def check(engine: Engine, result: Result) -> list[str]:
    """Compare the store with what was acknowledged: nothing lost, twice or half."""
    stored = {one.id: one.metadata for one in engine.store.get(REGISTRY)}
    problems = [
        f"lost: document {id_} of {ref}"
        for id_, (ref, sha256) in result.documents.items()
        if id_ not in stored or stored[id_]["file_hash"] != sha256
    ]
    twice = Counter((one["application_ref"], one["file_hash"]) for one in stored.values())
    problems += [f"twice: {key}" for key, count in twice.items() if count > 1]
    for id_, document in stored.items():
        chunks = Selector.by_values(CHUNKS, document_id=id_)
        if engine.store.count(chunks) != document["chunk_count"]:
            problems.append(f"half: document {id_}")
        if not engine.kept.originals.has(str(document["file_hash"])):
            problems.append(f"lost: the original of {id_}")
    problems += await find_problems(engine)
    for collection in engine.store.collections():
        problems += engine.store.check(collection).problems
    index = IndexCollections(engine.settings.docvec_collection)
    notes = {one.metadata["source_file"] for one in engine.store.get(index.chunks)}
    problems += [
        f"{'lost' if is_there else 'not deleted'}: note {path}"
        for path, is_there in result.notes.items()
        if is_there != (path in notes)
    ]
    return problems
