"""The servers, by real calls: as a client starts them, and where `quinion serve` has them."""

import tempfile
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter
from typing import TextIO

import anyio
import httpx2
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

from quinion.cli.client import Answer, call
from quinion.cli.doctor.finding import Finding
from quinion.cli.entries import describe_start
from quinion.daemon.client import LOG_NAME
from quinion.errors import QuinionError
from quinion.servers.registry import CATALOG
from quinion.settings import Settings
from quinion.store.lock import Holder, is_held, read_holder

PATIENCE_S = 60.0
"""How long a server may take: the first use of a home makes the model ready, too."""
VERIFY_S = 15.0
"""How long all that a server keeps may take to be read; a large home takes longer."""
SHOWN_PROBLEMS = 5


async def check_servers(settings: Settings) -> list[Finding]:
    """Start a relay for each server as a client's configuration says, and have it answer.

    It lists its tools, reads a resource, and verifies all that it keeps, if that is soon done.
    """
    findings: dict[str, Finding] = {}

    async def check(name: str) -> None:
        with tempfile.TemporaryFile("w+") as log:
            try:
                with anyio.fail_after(PATIENCE_S):
                    findings[name] = await _check(settings, name, log)
            # Whatever it is, it is what was asked for.
            except Exception as error:
                findings[name] = _report(name, error, log)

    async with anyio.create_task_group() as group:
        for name in CATALOG:
            group.start_soon(check, name)
    return [findings[name] for name in CATALOG]


def check_engines(settings: Settings) -> Iterator[Finding]:
    """Who has the home now, where its log is, and whether what it serves over HTTP answers."""
    for home in dict.fromkeys(entry.settings(settings).home for entry in CATALOG.values()):
        holder = read_holder(home) if is_held(home) else None
        yield Finding("home", True, f"{home}, {_describe(holder, home)}")
        for name, address in (holder.addresses if holder else {}).items():
            yield check_health(f"{name} over HTTP", address)


def check_health(what: str, address: str) -> Finding:
    """Whether a server answers at an address."""
    try:
        with httpx2.Client(timeout=5, verify=False, trust_env=False) as http:
            answer = http.get(f"{address}/health")
    except (httpx2.HTTPError, httpx2.InvalidURL) as error:
        said = str(error) or type(error).__name__
        return Finding(what, False, f"{address} does not answer ({said})", "Run quinion serve.")
    return Finding(what, answer.is_success, f"{address}/health: {answer.text[:100]}")


async def _check(settings: Settings, name: str, log: TextIO) -> Finding:
    start = describe_start(settings, name)
    parameters = StdioServerParameters(command=start.command, args=start.args, env=start.variables)
    begun = perf_counter()
    answer: Answer | None = None
    async with Client(stdio_client(parameters, errlog=log)) as client:
        tools = (await client.list_tools()).tools
        resources = (await client.list_resources()).resources
        await client.read_resource(resources[0].uri)
        took = perf_counter() - begun
        with anyio.move_on_after(VERIFY_S):
            answer = await call(client, "verify", {})
    return _judge(name, f"{len(tools)} tools, first answer on stdio after {took:.1f} s", answer)


def _judge(name: str, found: str, answer: Answer | None) -> Finding:
    if answer is None:
        advice = "There is much to verify: quinion verify does."
        return Finding(name, True, found, advice)
    if "problems" not in answer:
        return Finding(name, False, f"it can't be verified: {answer.get('message', answer)}")
    if problems := answer["problems"]:
        shown = [f"{len(problems)} problems", *problems[:SHOWN_PROBLEMS]]
        return Finding(name, False, "\n".join(shown), "quinion verify lists all.")
    warnings = answer["warnings"][:SHOWN_PROBLEMS]
    text = f"{found}; {answer['records']:,} records, no problem"
    return Finding(name, True, "\n".join([text, *warnings]))


def _report(name: str, error: Exception, log: TextIO) -> Finding:
    """The last line that the relay wrote says more than that it has ended."""
    log.seek(0)
    written = log.read().strip().splitlines()
    if isinstance(error, TimeoutError):
        said = f"no answer within {PATIENCE_S:.0f} s"
    else:
        said = written[-1] if written else _word(error)
    return Finding(name, False, said, f"Try quinion stdio {name}; see the engine's log.")


def _word(error: BaseException) -> str:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return str(error) if isinstance(error, QuinionError) else f"{type(error).__name__}: {error}"


def _describe(holder: Holder | None, home: Path) -> str:
    log = home / LOG_NAME
    where = f"; log of engines in the background: {log}" if log.exists() else ""
    if holder is None:
        return f"nobody has it now{where}"
    over = ", ".join(holder.addresses) or "no server over HTTP"
    return f"process {holder.pid} (quinion {holder.version}) has it, {over}{where}"
