"""Starting each server: its port, and when it refuses to start."""

import re
import socket
from pathlib import Path

import pytest

from quinion.errors import BadSetting
from tests.contract.conftest import NewHome
from tests.contract.contracts import CONTRACTS
from tests.contract.local import Shared, run_local
from tests.contract.process import read_note, run_http, run_stdio, run_to_end

WRONG_USE, BAD_SETTING = 2, 3
BAD_SETTINGS = [
    pytest.param(name, *setting, id=f"{name}-{setting[0]}-{setting[1][:20]}")
    for name, one in CONTRACTS.items()
    for setting in one.bad_settings
]


def test_the_ports_are_those_of_the_contracts_if_nothing_is_said(new_home: NewHome) -> None:
    home = new_home()
    command = ("quinion", "serve", "--no-console")
    # Another program of this machine may have one of them; then the refusal names it.
    if taken := [one.port for one in CONTRACTS.values() if is_taken(one.port)]:
        ended = run_to_end(home, {}, *command[1:], program=command[0])
        assert f"127.0.0.1:{taken[0]}" in ended.stderr
        return
    with run_http(home, command=command):
        assert read_note(home)["addresses"] == {
            name: f"http://127.0.0.1:{one.port}" for name, one in CONTRACTS.items()
        }


def is_taken(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


@pytest.mark.parametrize(("name", "variable", "value"), BAD_SETTINGS)
def test_a_bad_setting_is_named(
    shared: Shared, new_home: NewHome, name: str, variable: str, value: str
) -> None:
    home = new_home()
    if variable == "CHROMA_PERSIST_DIR":  # a store in a database has nothing there
        home.need_files()
    with pytest.raises(BadSetting) as caught, run_local(shared, name, home, {variable: value}):
        pass
    assert re.search(rf"\b{variable}\b", caught.value.message)
    assert "\n" not in caught.value.message
    assert "secret" not in caught.value.message


@pytest.mark.parametrize("name", CONTRACTS)
def test_a_bad_setting_refuses_to_start_and_leaves_the_home_as_it_was(
    new_home: NewHome, name: str
) -> None:
    home = new_home()
    contract = CONTRACTS[name]
    variable, value = contract.bad_settings[0]
    ended = run_to_end(home, {variable: value}, program=contract.program)
    assert (ended.returncode, ended.stdout) == (BAD_SETTING, "")
    [line] = ended.stderr.splitlines()
    assert re.search(rf"\b{variable}\b", line)
    assert [path.name for path in home.path.iterdir()] == ["models"]


@pytest.mark.parametrize("name", CONTRACTS)
def test_a_setting_that_is_bad_for_the_engine_refuses_to_start_too(
    new_home: NewHome, name: str
) -> None:
    contract = CONTRACTS[name]
    variable, value = contract.bad_settings[-1]
    ended = run_to_end(
        new_home(), {variable: value}, "--http", "--port", "0", program=contract.program
    )
    assert (ended.returncode, ended.stdout) == (BAD_SETTING, "")
    line = ended.stderr.splitlines()[-1]
    assert re.search(rf"\b{variable}\b", line)
    assert "Traceback" not in ended.stderr
    assert "secret" not in ended.stderr


@pytest.mark.parametrize("name", CONTRACTS)
def test_wrong_use_is_refused(new_home: NewHome, name: str) -> None:
    contract = CONTRACTS[name]
    ended = run_to_end(new_home(), {}, "--nonsense", program=contract.program)
    assert ended.returncode == WRONG_USE
    assert f"usage: {contract.program}" in ended.stderr


@pytest.mark.parametrize(
    ("module", "program"),
    [("quinion", "quinion"), ("doclibrary.servers.mcp", "doclibrary-mcp")],
)
def test_a_module_is_the_same_program_as_its_command(
    new_home: NewHome, module: str, program: str
) -> None:
    home = new_home()
    ours = run_to_end(home, {}, "-m", module, "--version", program="python")
    theirs = run_to_end(home, {}, "--version", program=program)
    assert (ours.returncode, ours.stderr) == (0, "")
    assert ours.stdout == theirs.stdout


def test_the_client_configuration_of_the_doclibrary_contract_starts_it(
    new_home: NewHome, tmp_path: Path
) -> None:
    command = ("python", "-m", "doclibrary.servers.mcp")
    with run_stdio(new_home(), command=command, folder=tmp_path) as session:
        assert set(session.tools) == CONTRACTS["doclibrary"].tools
        assert session.call("list_documents_paginated")["documents"] == []
