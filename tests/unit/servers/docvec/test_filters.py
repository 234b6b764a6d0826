from typing import Any

import pytest

from quinion.errors import InvalidInput
from quinion.servers.docvec.filters import MAX_DEPTH, read_filters


@pytest.mark.parametrize(
    ("written", "read"),
    [
        (None, None),
        ({}, None),
        ({"source_file": "/a.md"}, {"source_file": {"$eq": "/a.md"}}),
        (
            {"source_file": "/a.md", "header_level": 2},
            {"$and": [{"source_file": {"$eq": "/a.md"}}, {"header_level": {"$eq": 2}}]},
        ),
        (
            {"page_number": {"$gte": 10, "$lte": 20}},
            {"$and": [{"page_number": {"$gte": 10}}, {"page_number": {"$lte": 20}}]},
        ),
        ({"page_number": 3.0}, {"page_number": {"$eq": 3}}),
        ({"header_level": {"$in": [1, 2]}}, {"header_level": {"$in": [1, 2]}}),
        (
            {"$or": [{"page_number": 1}, {"page_number": 2}]},
            {"$or": [{"page_number": {"$eq": 1}}, {"page_number": {"$eq": 2}}]},
        ),
    ],
)
def test_filters_are_brought_into_the_form_of_the_store(
    written: dict[str, Any] | None, read: dict[str, Any] | None
) -> None:
    assert read_filters(written) == read


def nested(levels: int) -> dict[str, Any]:
    return {"$and": [nested(levels - 1)]} if levels else {"page_number": 1}


@pytest.mark.parametrize(
    ("written", "problem"),
    [
        ({"page": 1}, "Unknown filter field 'page'.*page_number"),
        ({"page_number": {"$near": 1}}, r"Unknown filter operator '\$near' on page_number.*\$gte"),
        ({"page_number": {}}, "no operator"),
        ({"page_number": "ten"}, "page_number must be a whole number, got 'ten'"),
        ({"page_number": 1.5}, "whole number"),
        ({"page_number": True}, "whole number"),
        ({"page_number": None}, "whole number"),
        ({"page_number": 1e300}, "whole number"),
        ({"page_number": float("nan")}, "whole number"),
        ({"source_file": 3}, "source_file must be text"),
        ({"source_file": ["a"]}, "source_file must be text"),
        ({"source_file": {"$gte": "a"}}, r"\$gte is for number fields"),
        ({"page_number": {"$contains": "1"}}, r"\$contains is for text fields"),
        ({"page_number": {"$in": 1}}, "takes a list"),
        ({"page_number": {"$in": []}}, "takes a list"),
        ({"$or": {"page_number": 1}}, "takes a list of filters"),
        ({"$or": []}, "takes a list of filters"),
        ({"$and": [{}]}, "inside .* is empty"),
        ({"$and": ["x"]}, "must be an object"),
        (nested(MAX_DEPTH + 1), "nested"),
        ({"$and": [{"page_number": n} for n in range(1001)]}, "at most"),
    ],
)
def test_invalid_filters_are_refused(written: dict[str, Any], problem: str) -> None:
    with pytest.raises(InvalidInput, match=problem):
        read_filters(written)
