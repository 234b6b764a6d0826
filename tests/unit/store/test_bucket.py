import hashlib
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from quinion.errors import BadSetting, ExtractionFailed, StoreUnavailable
from quinion.store import bucket_blobs
from quinion.store.bucket import STEP, Bucket
from quinion.store.bucket_blobs import BucketBlobs, BucketWords
from tests.s3_server import S3Server, s3_server

SMALL, LARGE = b"content", bytes(range(256)) * (STEP // 256 + 1)


@pytest.fixture(scope="module")
def server() -> Iterator[S3Server]:
    with s3_server() as server:
        yield server


@pytest.fixture(params=["file", "s3"])
def bucket(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Bucket:
    if request.param == "file":
        return Bucket(f"file://{tmp_path}/shared")
    server: S3Server = request.getfixturevalue("server")
    for name, value in server.environment.items():
        monkeypatch.setenv(name, value)
    return Bucket(f"{server.url}/{tmp_path.name}")


@pytest.fixture
def blobs(bucket: Bucket, tmp_path: Path) -> BucketBlobs:
    return BucketBlobs(bucket, tmp_path / "cache")


@pytest.fixture(params=[SMALL, LARGE], ids=["small", "large"])
def original(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    path = tmp_path / "a.pdf"
    path.write_bytes(request.param)
    return path


def sha(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_an_original_is_kept_once_and_read_by_another_server(
    bucket: Bucket, blobs: BucketBlobs, original: Path, tmp_path: Path
) -> None:
    sha256 = sha(original)
    assert not blobs.has(sha256)
    assert blobs.fetch(sha256) is None
    blobs.keep(original, sha256)
    written = dict(bucket.list("originals"))
    blobs.keep(original, sha256)
    assert dict(bucket.list("originals")) == written
    other = BucketBlobs(bucket, tmp_path / "elsewhere")
    assert other.has(sha256)
    copy = other.fetch(sha256)
    assert copy == tmp_path / "elsewhere" / sha256
    assert copy.read_bytes() == original.read_bytes()
    assert [path.name for path in copy.parent.iterdir()] == [sha256]


def test_a_file_that_changed_is_not_kept(
    bucket: Bucket, blobs: BucketBlobs, original: Path
) -> None:
    wrong = hashlib.sha256(b"before").hexdigest()
    with pytest.raises(ExtractionFailed, match=r"a\.pdf changed"):
        blobs.keep(original, wrong)
    assert not blobs.has(wrong)
    assert not list(bucket.list("originals"))


def test_a_damaged_original_is_an_error_and_leaves_no_copy(
    bucket: Bucket, blobs: BucketBlobs, original: Path, tmp_path: Path
) -> None:
    sha256 = sha(original)
    bucket.write(f"originals/{sha256}", b"something else")
    assert blobs.is_damaged(sha256)
    with pytest.raises(StoreUnavailable, match="damaged"):
        blobs.fetch(sha256)
    assert not list((tmp_path / "cache").iterdir())
    blobs.drop(sha256)
    assert not blobs.is_damaged(sha256)


def test_marks_are_swept_when_no_server_can_be_at_work_on_them(
    blobs: BucketBlobs, original: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sha256 = sha(original)
    blobs.keep(original, sha256)
    assert blobs.sweep() == []
    monkeypatch.setattr(bucket_blobs, "MIN_AGE", timedelta(seconds=-5))
    assert blobs.sweep() == [sha256]
    blobs.mark_listed(sha256)
    assert blobs.sweep() == []
    assert blobs.has(sha256)
    blobs.mark_unlisted(sha256)
    blobs.drop(sha256)
    assert blobs.sweep() == []
    assert not blobs.has(sha256)
    blobs.drop(sha256)


def test_the_copies_that_were_not_used_for_longest_are_deleted(
    bucket: Bucket, tmp_path: Path
) -> None:
    blobs = BucketBlobs(bucket, tmp_path / "cache", max_cache_bytes=2 * len(SMALL))
    hashes = []
    for number in range(4):
        file = tmp_path / f"{number}.pdf"
        file.write_bytes(SMALL[:-1] + str(number).encode())
        hashes.append(sha(file))
        blobs.keep(file, hashes[-1])
    for sha256 in [*hashes[:3], hashes[0], hashes[3]]:
        assert blobs.fetch(sha256)
    kept = {path.name for path in (tmp_path / "cache").iterdir()}
    assert kept == {hashes[0], hashes[2], hashes[3]}


def test_words_of_pages_are_shared(bucket: Bucket, tmp_path: Path) -> None:
    one, other = (BucketWords(bucket, tmp_path / name) for name in ("one", "other"))
    assert not other.has("hash")
    one.write("hash", {1: b"first"})
    assert other.has("hash")
    assert other.read("hash", 1) == b"first"
    other.write("hash", {2: b"second"})
    assert one.read("hash", 2) == b"second"
    assert one.read("hash", 1) == b"first"
    assert one.read("hash", 3) is None
    one.drop("hash")
    assert not BucketWords(bucket, tmp_path / "third").has("hash")


@pytest.mark.slow
def test_a_bucket_that_does_not_answer_is_an_error_with_its_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with s3_server() as server:
        for name, value in server.environment.items():
            monkeypatch.setenv(name, value)
        blobs = BucketBlobs(Bucket(server.url), tmp_path / "cache")
        file = tmp_path / "a.pdf"
        file.write_bytes(SMALL)
        blobs.keep(file, sha(file))
    for call in (blobs.has, blobs.fetch, blobs.is_damaged, lambda one: blobs.keep(file, one)):
        with pytest.raises(StoreUnavailable, match="s3://documents/quinion cannot be read or w"):
            call(sha(file))
    blobs.mark_listed(sha(file))  # after the commit of a document, which is no failure
    blobs.drop(sha(file))


@pytest.mark.parametrize("url", ["s3://", "file:///proc/none/here"])
def test_an_address_that_cannot_be_used_is_named(url: str) -> None:
    with pytest.raises(BadSetting, match=r"QUINION_BLOBS_URL: \S"):
        Bucket(url)
