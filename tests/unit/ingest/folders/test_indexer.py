import errno
import json

import pytest

from quinion.errors import ExtractionFailed, FileUnreadable
from quinion.ingest.folders.indexer import _describe_unreadable


@pytest.mark.parametrize(
    ("number", "kind", "says"),
    [
        (errno.EACCES, FileUnreadable, "may not be read"),
        (errno.EILSEQ, ExtractionFailed, "Rename it"),
    ],
)
def test_a_path_that_is_not_text_is_printable(
    number: int, kind: type[Exception], says: str
) -> None:
    name, problem = _describe_unreadable(OSError(number, "closed", "/notes/caf\udce9"))
    assert name == "/notes/caf\ufffd"
    assert type(problem) is kind
    assert says in problem.message
    json.dumps([name, problem.message], ensure_ascii=False).encode()
