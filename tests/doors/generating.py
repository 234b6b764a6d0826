"""Generator of arguments from a tool's input schema: valid and almost valid ones.

It is specific to these tools: their schemas use little of JSON Schema, and the interesting texts
are known: existing ids, paths, dates, and input that breaks parsers.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from hypothesis import strategies as st

Schema = Mapping[str, Any]

ODD_TEXTS = [
    "",
    " ",
    "\0",
    "\n\r\t",
    "a" * 999,
    "a" * 1_001,
    "word " * 5_000,
    "日本語のテキスト",
    "👩‍👩‍👧‍👦" * 20,
    "\u202e\ufeff\u0301",
    "%s%n{0}{{}}${x}",
    "' OR 1=1; --",
    "*?[](){}|\\^$",
    "../../../etc/passwd",
    "/dev/zero",
    "/proc/self/environ",
    "~root",
    "2024-02-30",
    "9999-12-31",
    "0000-00-00",
    "20241212",
    "-1",
    "null",
    "<script>alert(1)</script>",
    "&lt;&#x0;",
]
ODD_NUMBERS = [-(10**20), -1, 0, 1, 49, 50, 51, 100, 1_000, 1_001, 2**31, 2**63, 10**30]

SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.sampled_from(ODD_NUMBERS),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from(ODD_TEXTS),
)
KEYS = st.sampled_from(["source_file", "page_number", "$and", "$or", "$gte", "$in", "x", ""])
ANY_JSON = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=8,
)


def arguments(schema: Schema, known: Sequence[str]) -> st.SearchStrategy[dict[str, Any]]:
    """Generate arguments for a tool; `known` are texts with a meaning for its server."""
    properties: Mapping[str, Schema] = schema["properties"]
    required = set(schema.get("required", []))
    fitting = {name: _fit(part, known) for name, part in properties.items()}
    whole = st.fixed_dictionaries(
        {name: fitting[name] for name in properties if name in required},
        optional={name: fitting[name] for name in properties if name not in required},
    )
    almost = st.fixed_dictionaries(
        {},
        optional={
            **{name: part | ANY_JSON for name, part in fitting.items()},
            "no_such_parameter": ANY_JSON,
        },
    )
    return whole | st.tuples(whole, almost).map(lambda pair: {**pair[0], **pair[1]}) | almost


def _fit(schema: Schema, known: Sequence[str]) -> st.SearchStrategy[Any]:
    if "anyOf" in schema:
        return st.one_of([_fit(option, known) for option in schema["anyOf"]])
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    makers: dict[str, Callable[[], st.SearchStrategy[Any]]] = {
        "string": lambda: _texts(known, schema.get("maxLength", 10**6)),
        "integer": lambda: st.integers(
            schema.get("minimum", -(2**40)), schema.get("maximum", 2**40)
        ),
        "boolean": st.booleans,
        "null": st.none,
        "array": lambda: st.lists(_fit(schema["items"], known), max_size=4),
    }
    make = makers.get(schema.get("type", ""))
    return make() if make else ANY_JSON


def _texts(known: Sequence[str], longest: int) -> st.SearchStrategy[str]:
    any_text = st.text(st.characters(exclude_categories=["Cs"]), max_size=60)
    texts = st.sampled_from([*known, *ODD_TEXTS]) | any_text
    return texts.filter(lambda text: len(text) <= longest)
