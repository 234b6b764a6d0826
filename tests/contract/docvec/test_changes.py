"""Files that are the same, change, move, are copied and vanish: what is embedded again, and what
the index says afterwards.

The embedding server of these tests remembers what it was asked for, so that nothing can be
embedded without being seen.
"""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.contract.docvec.asking import (
    chunks_of,
    counts,
    done,
    files_found,
    find,
    index,
    index_all,
    indexed,
    stats,
    write,
)
from tests.contract.docvec.conftest import holding, with_ollama
from tests.contract.local import LocalServer, Serve
from tests.contract.process import Home
from tests.contract.session import PATIENCE_S, Session
from tests.ollama_server import OllamaServer, ollama_server

HEDGES = "Hedges are cut in the autumn, when the birds have left them.\n"
BATS = "Bats leave the barn at dusk and come back before the day begins.\n"
TRAINS = "Trains to the coast leave the station every hour from platform four.\n"


@pytest.fixture(scope="module")
def shared_ollama() -> Iterator[OllamaServer]:
    with ollama_server() as server:
        yield server


@pytest.fixture(scope="module")
def server(home: Home, shared_ollama: OllamaServer, serve: Serve) -> Iterator[LocalServer]:
    with serve(home, with_ollama(shared_ollama)) as server:
        yield server


@pytest.fixture
def ollama(shared_ollama: OllamaServer, empty: Session) -> OllamaServer:
    """The embedding server, with an index that is empty and nothing asked so far."""
    shared_ollama.requests.clear()
    return shared_ollama


def embedded(ollama: OllamaServer) -> list[str]:
    """What was embedded since the last look, of documents."""
    texts = [text for batch in ollama.texts for text in batch]
    ollama.requests.clear()
    prefix = "search_document: "
    return sorted(text.removeprefix(prefix) for text in texts if text.startswith(prefix))


def check_agreement(session: Session) -> None:
    """Each listed file has chunks, and all chunks are those of the listed files."""
    data = stats(session)
    found = find(session, "anything", n_results=50)
    assert len(found) == data["total_chunks"]
    assert {result["metadata"]["source_file"] for result in found} == set(data["source_files"])
    hashes: dict[str, set[str]] = {}
    for result in found:
        metadata = result["metadata"]
        hashes.setdefault(metadata["doc_hash"], set()).add(metadata["source_file"])
    # The same bytes are indexed under one path.
    assert all(len(files) == 1 for files in hashes.values())


def test_the_same_content_is_indexed_once_in_a_run(
    session: Session, ollama: OllamaServer, folder: Path
) -> None:
    write(folder, {"a.md": HEDGES, "b.md": HEDGES, "sub/c.md": HEDGES, "d.md": BATS})
    data = index_all(session, folder)
    assert counts(data) == (2, 2, 0)
    assert set(data["chunk_ids"]) == {str(folder / "a.md"), str(folder / "d.md")}
    assert embedded(ollama) == sorted([HEDGES.strip(), BATS.strip()])
    assert indexed(session) == ["a.md", "d.md"]


def test_a_second_run_embeds_nothing_and_says_that_all_is_known(
    session: Session, ollama: OllamaServer, folder: Path
) -> None:
    write(folder, {"a.md": HEDGES, "b.txt": BATS})
    first = index_all(session, folder)
    assert len(embedded(ollama)) == 2
    second = index_all(session, folder)
    assert counts(second) == (0, 2, 0)
    assert (second["total_chunks"], second["chunk_ids"]) == (0, {})
    # A date alone is no change.
    os.utime(folder / "a.md", (0, 0))
    assert counts(index_all(session, folder)) == (0, 2, 0)
    assert embedded(ollama) == []
    assert stats(session)["total_chunks"] == first["total_chunks"]


def test_index_file_says_under_which_path_a_content_is_indexed_already(
    session: Session, ollama: OllamaServer, folder: Path
) -> None:
    write(folder, {"a.md": HEDGES, "elsewhere/b.md": HEDGES})
    first = index(session, folder / "a.md")
    assert len(embedded(ollama)) == 1
    for path in ("a.md", "elsewhere/b.md"):
        again = index(session, folder / path)
        assert again["chunks_created"] == 0
        assert again["duplicate_of"] == str(folder / "a.md")
        for key in ("doc_hash", "chunk_ids", "total_tokens", "file_format"):
            assert again[key] == first[key]
    assert embedded(ollama) == []
    assert indexed(session) == ["a.md"]


def test_a_changed_file_replaces_its_own_chunks_and_no_other(
    session: Session, ollama: OllamaServer, folder: Path
) -> None:
    write(folder, {"a.md": HEDGES, "b.md": BATS})
    first = index_all(session, folder)
    embedded(ollama)
    write(folder, {"a.md": TRAINS})
    second = index_all(session, folder)
    assert counts(second) == (1, 1, 0)
    assert second["updated_documents"] == 1
    assert set(second["chunk_ids"]) == {str(folder / "a.md")}
    assert embedded(ollama) == [TRAINS.strip()]
    assert [chunk["content"] for chunk in chunks_of(session, folder / "a.md")] == [TRAINS.strip()]
    gone = first["chunk_ids"][str(folder / "a.md")]
    assert not {r["chunk_id"] for r in find(session, HEDGES, n_results=50)} & set(gone)
    # The same by index_file; and back again.
    write(folder, {"a.md": HEDGES})
    third = index(session, folder / "a.md")
    assert (third["chunks_created"], third["duplicate_of"]) == (1, None)
    assert third["chunk_ids"] == gone
    assert stats(session)["total_chunks"] == 2


def test_of_a_file_that_shrank_or_lost_its_text_nothing_old_is_left(
    session: Session, ollama: OllamaServer, folder: Path
) -> None:
    long = "\n\n".join(f"Paragraph {n}. {HEDGES * 12}" for n in range(6))
    write(folder, {"a.md": long, "b.md": BATS})
    assert len(index_all(session, folder)["chunk_ids"][str(folder / "a.md")]) > 3
    write(folder, {"a.md": HEDGES})
    index_all(session, folder)
    assert stats(session)["total_chunks"] == 2
    write(folder, {"a.md": ""})
    assert counts(index_all(session, folder)) == (0, 1, 0)
    assert indexed(session) == ["b.md"]
    check_agreement(session)


def test_the_index_follows_a_file_that_was_renamed(
    session: Session, ollama: OllamaServer, folder: Path
) -> None:
    write(folder, {"old.md": HEDGES, "b.md": BATS})
    first = index_all(session, folder)
    embedded(ollama)
    (folder / "sub").mkdir()
    (folder / "old.md").rename(folder / "sub" / "new.md")
    second = index_all(session, folder)
    assert counts(second) == (0, 2, 0)
    assert second["moved_documents"] == 1
    assert embedded(ollama) == []
    assert indexed(session) == ["b.md", "new.md"]
    [chunk] = chunks_of(session, folder / "sub" / "new.md")
    assert [chunk["chunk_id"]] == first["chunk_ids"][str(folder / "old.md")]
    assert files_found(session, HEDGES, n_results=1) == ["new.md"]
    assert stats(session)["vanished_files"] == []
    check_agreement(session)


def test_index_file_follows_a_file_that_was_renamed(
    session: Session, ollama: OllamaServer, folder: Path
) -> None:
    write(folder, {"old.md": HEDGES})
    first = index(session, folder / "old.md")
    embedded(ollama)
    (folder / "old.md").rename(folder / "new.md")
    second = index(session, folder / "new.md")
    assert second["chunk_ids"] == first["chunk_ids"]
    assert embedded(ollama) == []
    assert indexed(session) == ["new.md"]


def test_a_copy_takes_over_when_the_file_that_was_indexed_goes(
    session: Session, ollama: OllamaServer, folder: Path
) -> None:
    write(folder, {"a.md": HEDGES, "b.md": HEDGES})
    index_all(session, folder)
    embedded(ollama)
    (folder / "a.md").unlink()
    assert index_all(session, folder)["moved_documents"] == 1
    assert indexed(session) == ["b.md"]
    assert embedded(ollama) == []


def test_a_copy_is_indexed_when_the_file_that_was_indexed_changes(
    session: Session, ollama: OllamaServer, folder: Path
) -> None:
    write(folder, {"a.md": HEDGES, "b.md": HEDGES})
    index_all(session, folder)
    write(folder, {"a.md": TRAINS})
    data = index_all(session, folder)
    assert counts(data) == (2, 0, 0)
    assert data["updated_documents"] == 1
    assert indexed(session) == ["a.md", "b.md"]
    assert files_found(session, HEDGES, n_results=1) == ["b.md"]
    check_agreement(session)


def test_a_file_that_becomes_a_copy_loses_its_own_chunks(
    session: Session, ollama: OllamaServer, folder: Path
) -> None:
    write(folder, {"a.md": HEDGES, "b.md": BATS})
    index_all(session, folder)
    embedded(ollama)
    shutil.copy(folder / "a.md", folder / "b.md")
    assert counts(index_all(session, folder)) == (0, 2, 0)
    assert indexed(session) == ["a.md"]
    assert embedded(ollama) == []
    check_agreement(session)
    # The other one changes: now the copy is the only one that has it.
    write(folder, {"a.md": TRAINS})
    assert counts(index_all(session, folder)) == (2, 0, 0)
    assert indexed(session) == ["a.md", "b.md"]
    check_agreement(session)


def test_two_files_that_exchange_their_contents(
    session: Session, ollama: OllamaServer, folder: Path
) -> None:
    write(folder, {"a.md": HEDGES, "b.md": BATS})
    index_all(session, folder)
    write(folder, {"a.md": BATS, "b.md": HEDGES})
    index_all(session, folder)
    assert [c["content"] for c in chunks_of(session, folder / "a.md")] == [BATS.strip()]
    assert [c["content"] for c in chunks_of(session, folder / "b.md")] == [HEDGES.strip()]
    check_agreement(session)


def test_a_chain_of_renames(session: Session, ollama: OllamaServer, folder: Path) -> None:
    write(folder, {"a.md": HEDGES, "b.md": BATS, "c.md": TRAINS})
    index_all(session, folder)
    for old, new in (("c", "d"), ("b", "c"), ("a", "b")):
        (folder / f"{old}.md").rename(folder / f"{new}.md")
    index_all(session, folder)
    assert indexed(session) == ["b.md", "c.md", "d.md"]
    for name, text in (("b.md", HEDGES), ("c.md", BATS), ("d.md", TRAINS)):
        assert [c["content"] for c in chunks_of(session, folder / name)] == [text.strip()]
    check_agreement(session)


def test_a_vanished_file_is_reported_and_stays_until_it_is_deleted(
    session: Session, ollama: OllamaServer, folder: Path
) -> None:
    write(folder, {"a.md": HEDGES, "sub/b.md": BATS, "c.md": TRAINS})
    index_all(session, folder)
    assert stats(session)["vanished_files"] == []
    (folder / "a.md").unlink()
    shutil.rmtree(folder / "sub")
    assert counts(index_all(session, folder)) == (0, 1, 0)
    data = stats(session)
    assert data["vanished_files"] == [str(folder / "a.md"), str(folder / "sub" / "b.md")]
    assert data["unique_files"] == 3
    assert files_found(session, HEDGES, n_results=1) == ["a.md"]
    done(session.call("delete_file", source_file=str(folder / "a.md")))
    assert stats(session)["vanished_files"] == [str(folder / "sub" / "b.md")]


def test_the_same_content_has_the_same_chunk_ids_whenever_it_is_indexed(
    session: Session, ollama: OllamaServer, folder: Path
) -> None:
    write(folder, {"a.md": HEDGES, "b.md": BATS})
    first = index_all(session, folder)
    assert done(session.call("clear_index", confirm=True)) == {"deleted_count": 2}
    second = index_all(session, folder)
    assert second["chunk_ids"] == first["chunk_ids"]
    assert counts(second) == (2, 0, 0)


def test_files_that_vanish_or_change_in_mid_run_cost_their_own_error(
    session: Session, ollama: OllamaServer, folder: Path
) -> None:
    write(folder, {f"{n:03d}.txt": f"Text number {n} of many.\n" for n in range(120)})
    with holding(ollama):
        job = session.start("index_directory", dir_path=str(folder))
        assert ollama.arrived.wait(PATIENCE_S)
        # The first group waits to be embedded; these are still to be read.
        (folder / "110.txt").unlink()
        write(folder, {"111.txt": "Quite another text by now.\n"})
    data = done(job.result())
    assert counts(data) == (118, 0, 2)
    vanished, changed = data["errors"]
    assert vanished["file_path"] == str(folder / "110.txt")
    assert vanished["error_code"] == "FILE_NOT_FOUND"
    assert changed["file_path"] == str(folder / "111.txt")
    assert "changed while it was being read" in changed["reason"]
    assert stats(session)["unique_files"] == 118
    # The next run takes in what the file says now.
    assert counts(index_all(session, folder)) == (1, 118, 0)
    assert index(session, folder / "111.txt")["duplicate_of"] == str(folder / "111.txt")
    assert stats(session)["unique_files"] == 119
