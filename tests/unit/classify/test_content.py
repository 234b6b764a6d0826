import pytest

from quinion.classify.classifier import classify
from quinion.classify.content import classify_text
from quinion.model.document_type import DRAWINGS, DocumentType
from tests.unit.classify import documents_by_type

PROSE_TYPES = [kind for kind in DocumentType if kind not in {*DRAWINGS, DocumentType.OTHER}]


def test_every_type_has_texts() -> None:
    assert list(documents_by_type.COVERS) == PROSE_TYPES
    assert list(documents_by_type.SELVES) == PROSE_TYPES
    assert list(documents_by_type.PROSE) == PROSE_TYPES
    assert set(documents_by_type.DRAWINGS) == DRAWINGS


@pytest.mark.parametrize(
    ("kind", "text"),
    [(kind, text) for kind, texts in documents_by_type.COVERS.items() for text in texts],
)
def test_a_title_on_the_cover_determines_the_type(kind: DocumentType, text: str) -> None:
    assert classify_text(text) is kind


@pytest.mark.parametrize(("kind", "text"), documents_by_type.SELVES.items())
def test_what_a_document_calls_itself_determines_its_type(kind: DocumentType, text: str) -> None:
    assert classify_text(text) is kind


@pytest.mark.parametrize(("kind", "text"), documents_by_type.PROSE.items())
def test_plain_prose_on_the_subject_determines_the_type(kind: DocumentType, text: str) -> None:
    assert classify_text(text) is kind


@pytest.mark.parametrize(("kind", "text"), documents_by_type.DRAWINGS.items())
def test_the_labels_of_a_drawing_determine_its_type(kind: DocumentType, text: str) -> None:
    assert classify_text(text) is kind


@pytest.mark.parametrize("what", documents_by_type.PASSING)
def test_a_document_that_speaks_of_others_has_none_of_their_types(what: str) -> None:
    text = documents_by_type.PASSING[what]
    assert classify("00123456.pdf", text) is DocumentType.OTHER


@pytest.mark.parametrize(("kind", "text"), documents_by_type.PROSE.items())
def test_no_prose_is_typed_inside_a_letter(kind: DocumentType, text: str) -> None:
    assert classify_text(f"Dear Ms Hall\n{text}\nYours sincerely") is None
