"""All servers as started by `quinion serve`: one process with six endpoints.

The sixth is `quinion serve ocr-api`, which `mistral-ocr` uses offline.
"""

import re
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.contract.process import SCRIPTS, STOPPING_S, Home, HttpServer, Variables

DOCUMENT_STORE, POLICY_KB, DOCVEC = "document-store", "policy-kb", "docvec"
DOCLIBRARY, MISTRAL_OCR, OCR_API = "doclibrary", "mistral-ocr", "ocr-api"
MCP_SERVERS = (DOCUMENT_STORE, POLICY_KB, DOCVEC, DOCLIBRARY, MISTRAL_OCR)

TOKEN = "correct-horse-battery-staple"
PORTS = {f"{name.replace('-', '_').upper()}_PORT": "0" for name in MCP_SERVERS}

House = Mapping[str, HttpServer]
"""The servers by name; those of `quinion serve` are one process with one log."""


@contextmanager
def open_house(home: Home, variables: Variables, *, quiet: bool = True) -> Iterator[House]:
    """Start the servers, and stop them on exit; with `quiet`, any logged traceback is a failure."""
    scratch = home.files / "scratch"
    scratch.mkdir(exist_ok=True)
    given: Variables = {"MCP_API_KEY": TOKEN, "QUINION_WORKERS": "1", **PORTS, **variables}
    reading: Variables = {**given, "TMPDIR": str(scratch)}
    ocr_api = ("serve", "ocr-api", "--port", "0")
    with _run(home, reading, "ocr-api.log", ocr_api, quiet) as endpoint:
        allowed = home.files / "allowed"
        allowed.mkdir(exist_ok=True)
        ocr: Variables = {
            "MISTRAL_API_KEY": given["MCP_API_KEY"],
            "MISTRAL_OCR_ALLOWED_DIR": str(allowed),
            "MISTRAL_SERVER_URL": endpoint[OCR_API].address,
        }
        with _run(
            home, {**ocr, **given}, "server.log", ("serve", "--no-console"), quiet
        ) as servers:
            assert set(servers) == set(MCP_SERVERS)
            yield {**servers, **endpoint}


@contextmanager
def _run(
    home: Home, variables: Variables, log: str, arguments: Sequence[str], quiet: bool
) -> Iterator[House]:
    log_path = home.files / log
    with (
        log_path.open("a") as errors,
        subprocess.Popen(
            [str(SCRIPTS / "quinion"), *arguments],
            env=home.environment(variables),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        ) as process,
    ):
        try:
            yield _read_addresses(process, home, log_path, variables)
        finally:
            process.terminate()
            try:
                status = process.wait(STOPPING_S)
            finally:
                process.kill()
    written = log_path.read_text()
    assert status == 0, written[-2000:]
    assert not quiet or not unexpected(written), unexpected(written)


def unexpected(log: str) -> str:
    """Return the first traceback of the log; empty if there is none."""
    place = log.find("Traceback")
    return "" if place < 0 else log[max(place - 200, 0) : place + 4000]


def _read_addresses(
    process: "subprocess.Popen[str]", home: Home, log_path: Path, variables: Variables
) -> House:
    assert process.stdout is not None
    servers: dict[str, HttpServer] = {}
    for line in iter(process.stdout.readline, ""):
        found = re.match(r"(\S+) +(http://[^/\s]+)", line)
        if not found:
            break
        servers[found[1]] = HttpServer(process, found[2], home, log_path, line, variables)
    assert servers, log_path.read_text()
    return servers
