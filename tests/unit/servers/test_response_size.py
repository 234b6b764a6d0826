"""Response size: an answer within the limit fits in any serialisation of the SDK."""

import json

import pydantic_core
from hypothesis import given, settings
from hypothesis import strategies as st

from quinion.servers.response_size import MAX_RESULT_BYTES, how_many_fit

LARGEST = 1 << 20
PARTS = st.lists(
    st.builds(
        lambda letters, times: letters * times,
        st.text(st.characters(exclude_categories=["Cs"]), max_size=4),
        st.integers(0, 40_000),
    ),
    max_size=12,
)


def written(parts: list[str]) -> int:
    """Return the bytes of the answer over Streamable HTTP, the largest serialisation."""
    answer = {"parts": parts}
    text = pydantic_core.to_json(answer, indent=2).decode()
    body = {"content": [{"type": "text", "text": text}], "structuredContent": answer}
    return len(json.dumps(body))


@settings(max_examples=50)
@given(PARTS)
def test_an_answer_is_filled_up_to_the_limit(parts: list[str]) -> None:
    count = how_many_fit(parts)
    assert written(parts[:count]) < LARGEST
    if count < len(parts):
        assert written(parts[: count + 1]) > MAX_RESULT_BYTES - 1_000


def test_a_small_answer_fits_completely() -> None:
    assert how_many_fit([]) == 0
    assert how_many_fit(["図面"] * 1000) == 1000
