"""`clear_index` at a client that can ask its user: both have to agree, in both protocol eras.

Before 2026 the server asks while the call is under way; since then its answer is the question,
and the client calls again.
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import pytest
from mcp.types import ElicitResult

from tests.contract.docvec.asking import User, done, failed, index, stats, write
from tests.contract.docvec.documents import MARKDOWN
from tests.contract.local import LocalServer
from tests.contract.session import Session

YES = ElicitResult(action="accept", content={"delete_everything": True})
NO = ElicitResult(action="accept", content={"delete_everything": False})
DECLINE = ElicitResult(action="decline")
CANCEL = ElicitResult(action="cancel")
CHUNKS = 4

Connect = Callable[[User], AbstractContextManager[Session]]


@pytest.fixture(scope="module", params=["auto", "legacy"])
def connect(request: pytest.FixtureRequest, server: LocalServer) -> Connect:
    """Opens a session for a user."""
    return lambda user: server.session(request.param, ask=user)


@pytest.fixture(scope="module")
def user() -> User:
    return User(YES)


@pytest.fixture(scope="module")
def asking(connect: Connect, user: User) -> Iterator[Session]:
    with connect(user) as session:
        yield session


@pytest.fixture(autouse=True)
def four_chunks(asking: Session, user: User, folder: Path) -> None:
    user.says = YES
    done(asking.call("clear_index", confirm=True))
    index(asking, write(folder, {"a.md": MARKDOWN}) / "a.md")
    user.questions.clear()


def test_a_user_who_agrees(asking: Session, user: User) -> None:
    assert done(asking.call("clear_index", confirm=True)) == {"deleted_count": CHUNKS}
    [question] = user.questions
    assert f"{CHUNKS} chunks" in question
    assert stats(asking)["total_chunks"] == 0


@pytest.mark.parametrize("says", [NO, DECLINE, CANCEL], ids=["no", "declined", "cancelled"])
def test_a_user_who_does_not(asking: Session, user: User, says: ElicitResult) -> None:
    user.says = says
    answer = asking.call("clear_index", confirm=True)
    assert "Nothing was deleted" in failed(answer, "CONFIRMATION_REQUIRED")
    assert len(user.questions) == 1
    assert stats(asking)["total_chunks"] == CHUNKS


def test_a_user_is_not_asked_what_the_caller_does_not_confirm(asking: Session, user: User) -> None:
    answer = asking.call("clear_index", confirm=False)
    assert failed(answer, "CONFIRMATION_REQUIRED").startswith("Safety check")
    assert user.questions == []
    assert stats(asking)["total_chunks"] == CHUNKS


@pytest.mark.parametrize(
    "says",
    [
        ElicitResult(action="accept", content={}),
        ElicitResult(action="accept", content={"delete_everything": "perhaps"}),
        ElicitResult(action="accept"),
    ],
    ids=["nothing", "nonsense", "no content"],
)
def test_an_answer_that_is_none_deletes_nothing(
    asking: Session, user: User, says: ElicitResult
) -> None:
    user.says = says
    failed(asking.call("clear_index", confirm=True), "INVALID_INPUT")
    assert stats(asking)["total_chunks"] == CHUNKS
