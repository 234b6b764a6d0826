"""`quinion open`: open the console in the browser."""

import json
import subprocess
import sys
import time
import webbrowser

import typer

from quinion.console.session import Sessions
from quinion.console.site import NAME
from quinion.daemon.client import LOG_NAME, stop_engine
from quinion.errors import HomeInUse, QuinionError
from quinion.settings import Settings
from quinion.store.lock import is_held, read_holder

POLL_S = 0.05
START_TIMEOUT_S = 60.0


def run(settings: Settings, *, as_json: bool) -> int:
    """Open the console of the running engine; start one in the background if there is none."""
    address = _find(settings) or _start(settings)
    token = settings.api_key.get_secret_value() if settings.api_key else None
    sessions = Sessions(settings.home, token)
    url = address if sessions.has_token else f"{address}/?key={sessions.make_key()}"
    typer.echo(json.dumps({"address": url}) if as_json else url)
    webbrowser.open(url)
    return 0


def _find(settings: Settings) -> str | None:
    """Return the address of the console, if the process that holds the home serves it."""
    holder = read_holder(settings.home) if is_held(settings.home) else None
    return holder.addresses.get(NAME) if holder else None


def _start(settings: Settings) -> str:
    """Start an engine with the console, in a session of its own, and wait for its address.

    Raises:
        HomeInUse: a process that is not in the background holds the home, without a console.
        QuinionError: the engine did not start.
    """
    try:
        stop_engine(settings.home)  # its clients connect to the new one with their next call
    except HomeInUse as error:
        raise HomeInUse(
            f"{error} It does not serve the console: start it with quinion serve."
        ) from error
    settings.home.mkdir(mode=0o700, parents=True, exist_ok=True)
    log = settings.home / LOG_NAME
    command = "from quinion.cli.main import main; main()"
    with log.open("ab") as file:
        process = subprocess.Popen(
            [sys.executable, "-c", command, "serve", NAME, "--background"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=file,
            start_new_session=True,
            cwd="/",
        )
    started = time.monotonic()
    while time.monotonic() - started < START_TIMEOUT_S:
        if address := _find(settings):
            return address
        if process.poll() is not None:
            break
        time.sleep(POLL_S)
    raise QuinionError(f"The engine could not be started. See the log: {log}")
