"""The engine keeps all it has in the store that it is given, and nowhere else."""

from pathlib import Path

from quinion.store.base import Selector
from tests.contract.document_store.asking import (
    CHUNKS,
    REGISTRY,
    find,
    ingest_well,
    list_documents,
)
from tests.contract.local import LocalServer
from tests.contract.session import Session
from tests.documents import PROSE, text_pdf
from tests.store_conformance.dictionary_store import DictionaryStore


def test_what_is_ingested_is_in_the_store_and_not_in_the_home(
    server: LocalServer, store: DictionaryStore, session: Session, files: Path
) -> None:
    file = text_pdf(files / "Report.pdf", PROSE)
    answer = ingest_well(session, file)
    id_ = answer["document_id"]
    assert len(store.get(REGISTRY, ids=[id_])) == 1
    chunks, vectors = store.get_with_vectors(Selector.by_values(CHUNKS, document_id=id_))
    assert len(chunks) == len(vectors) == answer["chunks_created"]
    assert store.model(CHUNKS)
    home = server.home.path
    assert not (home / "store").exists()
    assert not (home / "chroma").exists()


def test_what_is_in_the_store_is_what_a_client_sees(
    store: DictionaryStore, session: Session, files: Path
) -> None:
    ingest_well(session, text_pdf(files / "Letter.pdf", f"A letter.\n{PROSE}"), "LETTERS")
    with store.transaction() as transaction:
        for name in (CHUNKS, REGISTRY):
            assert transaction.delete(Selector.by_values(name, application_ref="LETTERS")) == 1
    assert list_documents(session, "LETTERS") == []
    assert find(session, "a letter", application_ref="LETTERS") == []
