"""Checks of the servers by real calls, over stdio and over HTTP."""

import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from time import perf_counter
from typing import TextIO

import anyio
import httpx2
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

from quinion.cli.connect.entries import make_stdio_transport
from quinion.cli.server_client import Answer, call, connect
from quinion.daemon.client import LOG_NAME
from quinion.errors import QuinionError, StoreUnavailable
from quinion.home import store_place
from quinion.installation import Finding
from quinion.servers.registry import CATALOG
from quinion.settings import Settings
from quinion.store.factory import describe_builds
from quinion.store.lock import Holder, is_held, read_holder

ANSWER_TIMEOUT_S = 60.0
"""Timeout of a server's check; the first use of a home also prepares the model."""
VERIFY_TIMEOUT_S = 15.0
"""Timeout of `verify`; a large home takes longer."""
SHOWN_PROBLEMS = 5


async def check_servers(settings: Settings) -> list[Finding]:
    """Start each server as a client would, and check its answers.

    Lists the tools, reads a resource, and runs `verify` unless that takes too long.
    """
    findings: dict[str, Finding] = {}

    async def check(name: str) -> None:
        with tempfile.TemporaryFile("w+") as log:
            try:
                with anyio.fail_after(ANSWER_TIMEOUT_S):
                    findings[name] = await _check(settings, name, log)
            # Any failure is a finding.
            except Exception as error:
                findings[name] = _report_failure(name, error, log)

    async with anyio.create_task_group() as group:
        for name in CATALOG:
            group.start_soon(check, name)
    return [findings[name] for name in CATALOG]


def check_engines(settings: Settings) -> Iterator[Finding]:
    """Show which process holds each home, where its log is, and how far its keyword index is;
    check its HTTP servers."""
    places = [store_place(entry.settings(settings)) for entry in CATALOG.values()]
    for place in {place.home: place for place in places}.values():
        home = place.home
        holder = read_holder(home) if is_held(home) else None
        builds: list[str] = []
        with suppress(StoreUnavailable):  # `verify` has reported it
            builds = describe_builds(place)
        yield Finding("home", True, "\n".join([f"{home}, {_describe(holder, home)}", *builds]))
        for name, address in (holder.addresses if holder else {}).items():
            yield check_health(f"{name} over HTTP", address)


def check_health(what: str, address: str) -> Finding:
    """Check that a server answers at an address."""
    try:
        with httpx2.Client(timeout=5, verify=False, trust_env=False) as http:
            answer = http.get(f"{address}/health")
    except (httpx2.HTTPError, httpx2.InvalidURL) as error:
        reason = str(error) or type(error).__name__
        return Finding(what, False, f"{address} does not answer ({reason})", "Run quinion serve.")
    return Finding(what, answer.is_success, f"{address}/health: {answer.text[:100]}")


async def _check(settings: Settings, name: str, log: TextIO) -> Finding:
    start = make_stdio_transport(settings, name)
    parameters = StdioServerParameters(command=start.command, args=start.args, env=start.variables)
    started = perf_counter()
    answer: Answer | None = None
    async with Client(stdio_client(parameters, errlog=log)) as client:
        tools = (await client.list_tools()).tools
        resources = (await client.list_resources()).resources
        await client.read_resource(resources[0].uri)
        took = perf_counter() - started
        with anyio.move_on_after(VERIFY_TIMEOUT_S):
            async with connect(settings, name) as command:
                answer = await call(command, "verify", {})
    return _make_finding(
        name, f"{len(tools)} tools, first answer on stdio after {took:.1f} s", answer
    )


def _make_finding(name: str, found: str, answer: Answer | None) -> Finding:
    if answer is None:
        advice = "Not verified, the home is large. Run quinion verify."
        return Finding(name, True, found, advice)
    if "problems" not in answer:
        return Finding(name, False, f"cannot be verified: {answer.get('message', answer)}")
    if problems := answer["problems"]:
        shown = [f"{len(problems)} problems", *problems[:SHOWN_PROBLEMS]]
        return Finding(name, False, "\n".join(shown), "Run quinion verify to list all.")
    warnings = answer["warnings"][:SHOWN_PROBLEMS]
    text = f"{found}; {answer['records']:,} records, no problems"
    return Finding(name, True, "\n".join([text, *warnings]))


def _report_failure(name: str, error: Exception, log: TextIO) -> Finding:
    """Report a failure with the last line of the relay's log, which has the cause."""
    log.seek(0)
    written = log.read().strip().splitlines()
    if isinstance(error, TimeoutError):
        reason = f"no answer within {ANSWER_TIMEOUT_S:.0f} s"
    else:
        reason = written[-1] if written else _describe_error(error)
    return Finding(name, False, reason, f"Try quinion stdio {name}; see the engine's log.")


def _describe_error(error: BaseException) -> str:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return str(error) if isinstance(error, QuinionError) else f"{type(error).__name__}: {error}"


def _describe(holder: Holder | None, home: Path) -> str:
    log = home / LOG_NAME
    where = f"; log of the background engine: {log}" if log.exists() else ""
    if holder is None:
        return f"not in use{where}"
    over = ", ".join(holder.addresses) or "no HTTP server"
    return f"in use by process {holder.pid} (quinion {holder.version}), {over}{where}"
