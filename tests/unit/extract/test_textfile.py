import os
import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quinion.errors import ExtractionFailed, FileMissing
from quinion.extract import textfile
from quinion.extract.textfile import decode, read_text

ENGLISH = "The council’s plan – “Homes for all” – costs £20 million; see the café’s objection…\n"
FRENCH = "L'été dernier, nous avons déjà visité le château près de la forêt où l'élève étudiait.\n"
GERMAN = "Die Straße führt über die Brücke; größere Häuser müssen später geprüft werden.\n"
POLISH = "Wszyscy mieszkańcy będą mogli składać wnioski w urzędzie miasta Łódź.\n"
RUSSIAN = "Городская администрация принимает заявления каждый день с восьми утра.\n"
GREEK = "Ο δήμος δέχεται αιτήσεις κάθε μέρα από τις οκτώ το πρωί.\n"
JAPANESE = "市役所は毎日午前八時から申請を受け付けています。すべての住民が提出できます。\n"
CHINESE = "市政府每天上午八点开始受理申请。所有居民都可以在月底之前提交表格。\n"
KOREAN = "시청은 매일 오전 여덟 시부터 신청을 받습니다. 모든 주민은 제출할 수 있습니다.\n"
ALL = [ENGLISH, FRENCH, GERMAN, POLISH, RUSSIAN, GREEK, JAPANESE, CHINESE, KOREAN]
CONTROLS = "\0\x1b\x07\x08\x01\x02\x7f\r\n\x0c\x85\u2028\ufeff"


@pytest.mark.parametrize("text", ALL)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
def test_unicode_is_read_by_its_mark_or_as_utf8(text: str, encoding: str) -> None:
    assert decode(text.encode(encoding)) == text


@pytest.mark.parametrize("text", ["a", "ab", "x = 1\n", *ALL])
@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"])
def test_wide_unicode_is_read_without_a_mark_too(text: str, encoding: str) -> None:
    assert decode((text * 3).encode(encoding)) == text * 3


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        (ENGLISH, "cp1252"),
        (FRENCH, "cp1252"),
        (GERMAN, "cp1252"),
        (GERMAN, "cp850"),
        (POLISH, "cp1250"),
        (RUSSIAN, "cp1251"),
        (RUSSIAN, "koi8-r"),
        (RUSSIAN, "cp866"),
        (GREEK, "cp1253"),
        (JAPANESE, "cp932"),
        (JAPANESE, "euc-jp"),
        (JAPANESE, "iso-2022-jp"),
        (CHINESE, "gb18030"),
        (KOREAN, "cp949"),
    ],
)
def test_older_encodings_are_recognized(text: str, encoding: str) -> None:
    assert decode((text * 5).encode(encoding)) == text * 5


@pytest.mark.parametrize("text", ["é", "café", "naïve café", "£5", "Zoë\n", "“quoted”"])
def test_a_few_western_letters_are_western(text: str) -> None:
    assert decode(text.encode("cp1252")) == text


def test_one_odd_line_in_a_long_file_determines_the_encoding() -> None:
    text = "plain ASCII text\n" * 10_000 + CHINESE * 3
    assert decode(text.encode("gb18030")) == text


def test_intact_parts_of_damaged_utf8_are_kept() -> None:
    damaged = GERMAN.encode() + b"\xff broken \xe9\n" + FRENCH.encode()
    assert decode(damaged) == f"{GERMAN}\ufffd broken \ufffd\n{FRENCH}"


def test_line_ends_become_line_feeds_and_nothing_else_does() -> None:
    assert decode(b"a\r\nb\rc\nd\x0ce\x0bf\x1cg") == "a\nb\nc\nd\x0ce\x0bf\x1cg"
    assert decode("a\x85b\u2028c".encode()) == "a\x85b\u2028c"


def test_nuls_are_blanks() -> None:
    assert decode(b"one\0two\0three") == "one two three"
    assert decode(b"log line\n" * 50 + b"\0" * 300 + b"more\n").split() == ["log", "line"] * 50 + [
        "more"
    ]


@pytest.mark.parametrize("data", [b"", b" \n\t\n"])
def test_an_empty_file_is_read(data: bytes) -> None:
    assert decode(data) == data.decode()


@pytest.mark.parametrize(
    "text",
    [
        "\x1b[31mred\x1b[0m\n" * 20,
        "page one\x0cpage two\n",
        "N\x08NA\x08AM\x08ME\x08E\n",
        "8=FIX.4.2\x019=12\x0135=D\x01" * 20,
        "field\x1ffield\x1erecord" * 20,
    ],
)
def test_control_characters_that_text_has_are_left_in_it(text: str) -> None:
    assert decode(text.encode()) == text


@pytest.mark.parametrize(
    "data",
    [
        b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + bytes(range(256)) * 4,
        b"PK\x03\x04" + bytes(range(256)) * 4,
        b"\x7fELF" + b"\0" * 500,
        b"".join(struct.pack("<i", number) for number in range(500)),
        b"".join(struct.pack("<d", number * 1.1) for number in range(500)),
        b"%PDF-1.4\n1 0 obj\n<< /Type /Catalog >>\nendobj\n",
        b"\0" * 100,
    ],
    ids=["png", "zip", "elf", "integers", "floats", "pdf", "nuls"],
)
def test_binary_data_is_refused_with_advice(data: bytes) -> None:
    with pytest.raises(ExtractionFailed, match=r"binary data, not text\..*extension"):
        decode(data)


@pytest.mark.parametrize(
    ("cookie", "encoding"),
    [("latin-1", "latin-1"), ("cp1251", "cp1251"), ("euc-jp", "euc-jp"), ("utf8", "utf-8")],
)
def test_python_is_read_by_its_cookie(cookie: str, encoding: str) -> None:
    word = {"cp1251": "да", "euc-jp": "日本"}.get(encoding, "é")
    text = f"#!/usr/bin/python\n# -*- coding: {cookie} -*-\nx = '{word}'\n"
    assert decode(text.encode(encoding), python=True) == text


@pytest.mark.parametrize("cookie", ["utf-16", "rot13", "hex", "punycode", "nosuch", "undefined"])
def test_a_cookie_that_cannot_be_true_is_not_believed(cookie: str) -> None:
    text = f"# coding: {cookie}\nx = 1\n"
    assert decode(text.encode(), python=True) == text


def test_a_cookie_outside_of_python_is_a_comment() -> None:
    text = "# coding: latin-1\né\n"
    assert decode(text.encode()) == text


@given(st.binary(max_size=200) | st.text(CONTROLS + "aé中", max_size=60).map(str.encode))
def test_any_bytes_are_text_without_what_makes_trouble_or_refused(data: bytes) -> None:
    for python in (False, True):
        try:
            text = decode(data, python=python)
        except ExtractionFailed:
            continue
        text.encode()
        assert not {"\0", "\r"} & {*text}


@given(st.text(st.characters(exclude_categories=["C"], include_characters="\n\t"), max_size=100))
def test_utf8_is_always_read_as_such(text: str) -> None:
    assert decode(text.encode()) == text


def test_a_file_is_read_according_to_its_extension(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes("# coding: cp1251\nx = 'да'\n".encode("cp1251"))
    assert read_text(path, ".PY").endswith("'да'\n")


def test_a_binary_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / "photo.txt"
    path.write_bytes(bytes(range(256)) * 4)
    with pytest.raises(ExtractionFailed, match=r"photo\.txt cannot be read\. .*binary"):
        read_text(path, ".txt")


def test_a_missing_file_is_missing(tmp_path: Path) -> None:
    with pytest.raises(FileMissing, match=r"gone\.md"):
        read_text(tmp_path / "gone.md", ".md")


def test_a_folder_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(ExtractionFailed, match="cannot be read"):
        read_text(tmp_path, ".md")


def test_a_pipe_is_refused_without_waiting_for_it(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.txt")
    with pytest.raises(ExtractionFailed, match="not a regular file"):
        read_text(tmp_path / "pipe.txt", ".txt")


def test_a_file_over_the_limit_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(textfile, "MAX_BYTES", 4 << 20)
    path = tmp_path / "huge.txt"
    path.write_bytes(b"x" * (4 << 20))
    assert len(read_text(path, ".txt")) == 4 << 20
    path.write_bytes(b"x" * ((4 << 20) + 1))
    with pytest.raises(ExtractionFailed, match=r"huge\.txt has more than 4 MiB.*Split it"):
        read_text(path, ".txt")
