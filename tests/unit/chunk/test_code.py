from textwrap import dedent

import pytest

from quinion.chunk.code import MAX_PARSED, split_code
from quinion.model.chunk import FileChunk
from tests.tokens import by_words

SIZE = 64


def split(text: str, size: int = SIZE) -> list[FileChunk]:
    return split_code(dedent(text).lstrip("\n"), by_words, size)


def names(text: str, size: int = SIZE) -> list[tuple[str, str, int, int]]:
    return [
        (
            str(chunk.metadata.get("class_name", "")),
            str(chunk.metadata.get("function_name", "")),
            int(chunk.metadata["start_line"]),
            int(chunk.metadata["end_line"]),
        )
        for chunk in split(text, size)
    ]


def test_functions_methods_and_what_is_between_them_have_their_own_chunks() -> None:
    text = '''
        """The module."""
        import os
        import sys

        LIMIT = 3

        def first(a):
            return a

        class Reader(Base):
            """Reads."""

            size = 4

            def read(self):
                return self.size

            async def close(self):
                pass

        if __name__ == "__main__":
            first(LIMIT)
        '''
    assert names(text) == [
        ("", "", 1, 5),
        ("", "first", 7, 8),
        ("Reader", "", 10, 13),
        ("Reader", "read", 15, 16),
        ("Reader", "close", 18, 19),
        ("", "", 21, 22),
    ]


def test_keys_that_do_not_apply_are_left_out() -> None:
    [chunk] = split("x = 1\n")
    assert chunk.metadata == {"start_line": 1, "end_line": 1}


def test_decorators_and_comments_belong_to_what_they_stand_on() -> None:
    text = """
        x = 1  # of x

        # about f
        # more about f
        @decorator(
            # inside
            1,
        )
        def f():
            pass
            # at the end of f

            # and still

        # about nobody


        def g():
            pass
        """
    assert names(text) == [("", "", 1, 1), ("", "f", 3, 13), ("", "g", 15, 19)]


def test_names_of_what_is_nested_are_qualified() -> None:
    text = """
        class Outer:
            "Doc."
            class Inner:
                "Doc."
                x = 1
                def method(self):
                    pass
            def other(self):
                pass
        """
    assert names(text) == [
        ("Outer", "", 1, 2),
        ("Outer.Inner", "", 3, 5),
        ("Outer.Inner", "method", 6, 7),
        ("Outer", "other", 8, 9),
    ]


def test_a_bare_class_header_goes_with_the_first_method() -> None:
    chunks = split("class Tests(Base):\n\n    def test(self):\n        pass\n")
    [chunk] = chunks
    assert chunk.metadata == {
        "class_name": "Tests",
        "function_name": "test",
        "start_line": 1,
        "end_line": 4,
    }
    assert chunk.heading == ""


def test_definitions_under_a_condition_are_found() -> None:
    text = """
        if fast:
            import quick

            def f():
                return quick
        else:
            def f():
                return 1
        try:
            x = 1
        except ValueError:
            class Problem:
                "Doc."
        """
    assert names(text) == [
        ("", "", 1, 2),
        ("", "f", 4, 8),
        ("", "", 9, 11),
        ("Problem", "", 12, 13),
    ]


def test_definitions_of_one_name_that_follow_each_other_share_a_chunk() -> None:
    text = """
        class A:
            "Doc."

            @property
            def x(self):
                return 1

            @x.setter
            def x(self, value):
                pass

            def y(self):
                pass
        """
    assert names(text) == [("A", "", 1, 2), ("A", "x", 4, 10), ("A", "y", 12, 13)]


def test_a_nested_function_stays_in_its_outer_one() -> None:
    text = """
        def outer():
            def inner():
                pass
            return inner
        """
    assert names(text) == [("", "outer", 1, 4)]


def test_a_part_of_a_nested_function_has_its_name() -> None:
    body = "\n".join(f"        y{n} = call(a, b)" for n in range(12))
    text = f"def outer():\n    x = 1\n    def inner():\n{body}\n    return inner\n"
    chunks = split_code(text, by_words, 48)
    assert chunks[0].metadata["function_name"] == "outer"
    assert "outer.inner" in {chunk.metadata["function_name"] for chunk in chunks}
    assert chunks[1].heading == "def outer > def inner"


def test_a_long_function_is_cut_between_statements() -> None:
    call = "    result = compute(\n        first,\n        second,\n    )\n"
    text = "def long():\n" + call * 14
    chunks = split_code(text, by_words, 48)
    assert len(chunks) > 2
    assert all(chunk.text.endswith(")") for chunk in chunks)
    assert all(chunk.text.startswith("    result = compute(") for chunk in chunks[1:])
    assert [chunk.heading for chunk in chunks] == ["", *["def long"] * (len(chunks) - 1)]


def test_an_else_is_not_cut_off_from_its_body() -> None:
    branch = "".join(f"        call(argument, {n})\n" for n in range(6))
    text = f"def f(x):\n    if x:\n{branch}    elif y:\n{branch}    else:\n{branch}"
    for chunk in split_code(text, by_words, 48):
        assert not chunk.text.endswith("else:")
        assert not chunk.text.endswith("elif y:")


def test_a_long_docstring_is_cut_at_its_paragraphs() -> None:
    paragraph = "    " + "word " * 20 + "\n\n"
    text = f'def f():\n    """Do it.\n\n{paragraph * 4}    """\n    return 1\n'
    chunks = split_code(text, by_words, 48)
    assert all(chunk.metadata["function_name"] == "f" for chunk in chunks)
    assert all("\n\n" not in chunk.text[-3:] for chunk in chunks)
    assert chunks[1].heading == "def f"


def test_methods_are_embedded_under_their_class() -> None:
    text = """
        class Outer:
            "Doc."
            class Inner:
                "Doc."
                def method(self):
                    pass
        """
    assert [chunk.heading for chunk in split(text)] == ["", "class Outer", "class Outer.Inner"]


def test_module_level_code_is_packed() -> None:
    text = "".join(f"__name{n}__ = {n}\n\n" for n in range(20))
    assert len(split_code(text, by_words, 64)) == 1


def test_a_long_literal_is_cut_at_its_lines() -> None:
    text = "TABLE = {\n" + "".join(f'    "key {n}": {n},\n' for n in range(40)) + "}\n"
    chunks = split_code(text, by_words, 48)
    assert len(chunks) > 5
    assert all(chunk.text.lstrip().startswith('"key') for chunk in chunks[1:])


def test_comments_alone_are_kept() -> None:
    assert names("# only\n# comments\n") == [("", "", 1, 2)]


@pytest.mark.parametrize(
    "text",
    [
        "def broken(:\n    pass\n",
        "print 'Python 2'\n",
        "x = 1\0\n",
        "x = '\ud800'\n",
        "(" * 2000 + ")" * 2000,
        "if x:\n  y\n" + "".join(f"elif x == {n}:\n  y\n" for n in range(3000)),
        "def f():\n    pass\n" + "x = 1\n" * (MAX_PARSED // 6),
    ],
    ids=["syntax", "python 2", "nul", "surrogate", "too deep", "too many elifs", "too long"],
)
def test_what_cannot_be_parsed_is_split_by_its_lines(text: str) -> None:
    chunks = split_code(text, by_words, 64)
    assert {key for chunk in chunks for key in chunk.metadata} == {"start_line", "end_line"}
    assert chunks[-1].metadata["end_line"] == len(text.rstrip("\n").split("\n"))


def test_odd_escapes_in_a_file_are_no_warnings_of_ours() -> None:
    assert names('x = "\\d"\n') == [("", "", 1, 1)]


def test_form_feeds_and_letters_of_several_bytes_do_not_move_lines() -> None:
    text = 'x = "\u2028 \x85 äöü 中文"\n\x0c\ndef größe():\n    return "é" * 3\n\x0c\ny = 1\n'
    assert names(text) == [("", "", 1, 1), ("", "größe", 3, 4), ("", "", 6, 6)]


def test_a_comment_sign_in_a_string_is_no_comment() -> None:
    text = 'x = """\n# not about f"""\ndef f():\n    pass\n'
    assert names(text) == [("", "", 1, 2), ("", "f", 3, 4)]


def test_several_statements_on_a_line_are_kept_together() -> None:
    assert names("import a; import b\ndef f(): pass\n") == [("", "", 1, 1), ("", "f", 2, 2)]


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    "text",
    [
        "x = 1\n" * 20_000,
        "X = [\n" + "    1, 2, 3,\n" * 20_000 + "]\n",
        "def f():\n" + "    x = g(1)\n" * 20_000,
        "class A:\n" + "    def f(self): pass\n" * 10_000,
        "def f():\n" + "    def g(): pass\n" * 10_000,
        "x=1;" * 20_000,
        '"""' + "word word\n" * 50_000 + '"""\n',
        "# comment\n" * 50_000,
    ],
    ids=lambda text: repr(text[:12]),
)
def test_long_files_do_not_take_long(text: str) -> None:
    chunks = split_code(text, by_words, 254)
    kept = sum(len("".join(chunk.text.split())) for chunk in chunks)
    assert kept == len("".join(text.split()))
