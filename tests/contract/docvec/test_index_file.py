"""`index_file`: each format with its metadata, and each file that cannot be indexed."""

import hashlib
import os
import sys
from pathlib import Path

import pytest

from tests.contract.conftest import NewHome
from tests.contract.docvec.asking import (
    chunks_of,
    done,
    failed,
    find,
    index,
    index_all,
    indexed,
    stats,
    write,
)
from tests.contract.docvec.documents import CODE, MARKDOWN, PAGES, TEXT
from tests.contract.process import SCRIPTS, run_stdio
from tests.contract.session import Answer, Session
from tests.documents import PROSE, Blank, Scan, locked_pdf, make_pdf, text_pdf, truncated_pdf

COMMON_FIELDS = {"source_file", "chunk_index", "file_format", "doc_hash", "token_count"}
LINE_FIELDS = {"start_line", "end_line"}


def lines_of(text: str, metadata: Answer) -> str:
    """What stands on the lines that a chunk says it is from."""
    return "\n".join(text.split("\n")[metadata["start_line"] - 1 : metadata["end_line"]])


def check_chunks(chunks: list[Answer], data: Answer, file: Path, fields: set[str]) -> None:
    """The chunks are those that were promised, and have the fields of their format."""
    assert [chunk["chunk_id"] for chunk in chunks] == data["chunk_ids"]
    assert data["chunks_created"] == len(chunks)
    assert data["total_tokens"] == sum(chunk["token_count"] for chunk in chunks)
    for place, chunk in enumerate(chunks):
        metadata = chunk["metadata"]
        assert set(metadata) == COMMON_FIELDS | fields
        assert metadata["source_file"] == str(file)
        assert metadata["chunk_index"] == place
        assert metadata["file_format"] == data["file_format"]
        assert metadata["doc_hash"] == data["doc_hash"]
        assert metadata["token_count"] == chunk["token_count"] > 0


def test_the_answer_has_the_hash_the_chunks_and_the_tokens(empty: Session, folder: Path) -> None:
    file = write(folder, {"README.md": MARKDOWN}) / "README.md"
    data = index(empty, file)
    assert data["doc_hash"] == hashlib.sha256(file.read_bytes()).hexdigest()
    assert data["file_format"] == "markdown"
    assert len(set(data["chunk_ids"])) == data["chunks_created"] > 0
    assert (data["duplicate_of"], data["chunk_ids_omitted"]) == (None, 0)
    assert stats(empty)["source_files"] == [str(file)]
    assert stats(empty)["total_chunks"] == data["chunks_created"]


def test_markdown_has_the_path_and_the_level_of_its_headings(empty: Session, folder: Path) -> None:
    file = write(folder, {"a.md": MARKDOWN}) / "a.md"
    data = index(empty, file)
    chunks = chunks_of(empty, file)
    check_chunks(chunks, data, file, {"header_path", "header_level"} | LINE_FIELDS)
    assert [(c["metadata"]["header_path"], c["metadata"]["header_level"]) for c in chunks] == [
        ("", 0),
        ("Configuration", 1),
        ("Configuration > Authentication Configuration", 2),
        ("Configuration > Storage", 2),
    ]
    assert "before the first heading" in chunks[0]["content"]
    # The fence is whole, and what looks like a heading in it is none.
    assert "```sh\n# not a heading\nexport AUTH_PROVIDER=jwt\n```" in chunks[2]["content"]
    assert chunks[3]["content"].startswith("## Storage\n\n| setting | meaning |")
    for chunk in chunks:
        assert lines_of(MARKDOWN, chunk["metadata"]) == chunk["content"]


def test_code_has_the_class_the_function_and_the_lines(empty: Session, folder: Path) -> None:
    file = write(folder, {"client.py": CODE}) / "client.py"
    data = index(empty, file)
    assert data["file_format"] == "code"
    chunks = find(empty, "anything", n_results=50)
    assert sorted(chunk["chunk_id"] for chunk in chunks) == sorted(data["chunk_ids"])
    for chunk in chunks:
        assert set(chunk["metadata"]) >= LINE_FIELDS
        assert lines_of(CODE, chunk["metadata"]) == chunk["content"]
    # Whatever is taken together, each line of code is in some chunk.
    covered = {line for c in chunks for line in c["content"].split("\n") if line.strip()}
    assert covered == {line for line in CODE.split("\n") if line.strip()}


def test_a_long_module_is_cut_at_its_classes_and_functions(empty: Session, folder: Path) -> None:
    body = "".join(f"        value_{n} = compute(value_{n}, offset_{n})\n" for n in range(14))
    code = (
        '"""A module."""\n\nimport os\n\n\nclass Engine:\n'
        f"    @property\n    def start(self):\n{body}\n    def stop(self):\n{body}\n\n"
        f"async def drive(engine):\n{body.replace('        ', '    ')}"
    )
    file = write(folder, {"long.py": code}) / "long.py"
    index(empty, file)
    chunks = chunks_of(empty, file)
    named = [(c["metadata"].get("class_name"), c["metadata"].get("function_name")) for c in chunks]
    assert ("Engine", "start") in named
    assert ("Engine", "stop") in named
    assert (None, "drive") in named
    for chunk, (class_name, function_name) in zip(chunks, named, strict=True):
        assert set(chunk["metadata"]) - COMMON_FIELDS - LINE_FIELDS == {
            name
            for name, value in (("class_name", class_name), ("function_name", function_name))
            if value
        }
    [decorated] = [c for c in chunks if "@property" in c["content"]]
    assert "def start" in decorated["content"]


def test_text_has_the_lines(empty: Session, folder: Path) -> None:
    file = write(folder, {"minutes.txt": TEXT}) / "minutes.txt"
    data = index(empty, file)
    assert data["file_format"] == "text"
    chunks = chunks_of(empty, file)
    check_chunks(chunks, data, file, LINE_FIELDS)
    assert (chunks[0]["metadata"]["start_line"], chunks[-1]["metadata"]["end_line"]) == (1, 5)
    for chunk in chunks:
        assert lines_of(TEXT, chunk["metadata"]) == chunk["content"]


def test_a_pdf_has_the_page_and_the_position_on_it(empty: Session, folder: Path) -> None:
    long_page = "\n".join(f"Sentence {n} of a page that is long: {PROSE[:60]}" for n in range(60))
    file = text_pdf(folder / "report.pdf", *PAGES, long_page)
    data = index(empty, file)
    assert data["file_format"] == "pdf"
    chunks = chunks_of(empty, file)
    check_chunks(chunks, data, file, {"page_number", "page_position"})
    by_page: dict[int, list[str]] = {}
    for chunk in chunks:
        metadata = chunk["metadata"]
        by_page.setdefault(metadata["page_number"], []).append(metadata["page_position"])
    assert [by_page[page] for page in (1, 2, 3)] == [["start"]] * 3
    assert (by_page[4][0], by_page[4][-1]) == ("start", "end")
    assert set(by_page[4][1:-1]) == {"middle"}
    [hit] = find(empty, "which fish returns to the river of its birth?", n_results=1)
    assert (hit["metadata"]["page_number"], hit["content"]) == (2, PAGES[1])


def test_a_scanned_pdf_is_read(empty: Session, folder: Path) -> None:
    file = make_pdf(folder / "scan.pdf", [Scan(PROSE, cover=1.0)])
    assert index(empty, file)["chunks_created"] == 1
    assert "cycle parking" in chunks_of(empty, file)[0]["content"]


def test_the_example_of_the_contract(empty: Session, folder: Path) -> None:
    file = write(folder, {"config.md": MARKDOWN}) / "config.md"
    index(empty, file)
    [hit] = find(empty, "How do I configure authentication?", n_results=1)
    assert hit["content"].startswith("## Authentication Configuration\n\nTo configure")
    assert hit["metadata"]["header_path"] == "Configuration > Authentication Configuration"
    assert hit["metadata"]["header_level"] == 2


def test_a_path_may_be_relative_or_of_the_user(new_home: NewHome, folder: Path) -> None:
    home = new_home()
    write(home.files, {"notes.txt": "In the home of the user.\n"})
    write(folder, {"sub/notes.txt": "Beside the server.\n"})
    # A server is started somewhere, and what is relative is so to that place.
    command = ("/bin/sh", "-c", 'cd "$0" && exec "$1"', str(folder), str(SCRIPTS / "docvec-mcp"))
    with run_stdio(home, {}, command) as session:
        index(session, "sub/notes.txt")
        index(session, "~/notes.txt")
        assert sorted(stats(session)["source_files"]) == sorted(
            [str(folder / "sub/notes.txt"), str(home.files / "notes.txt")]
        )
        index_all(session, "sub")
        assert indexed(session) == ["notes.txt", "notes.txt"]
        answer = session.call("delete_file", source_file="sub/notes.txt")
        assert done(answer) == {"deleted_count": 1, "source_file": "sub/notes.txt"}


@pytest.mark.parametrize("name", ["upper.TXT", "notes.2024.txt", "ünïcödé 図面.txt", "a'b\"c.txt"])
def test_a_name_may_be_any(empty: Session, folder: Path, name: str) -> None:
    file = write(folder, {name: f"The text of {name}.\n"}) / name
    index(empty, file)
    assert stats(empty)["source_files"] == [str(file)]
    assert len(chunks_of(empty, file)) == 1


ENCODED = "Das Café an der Straße öffnet früh, sagte sie – „naïve“ Gäste stört das nicht. " * 4


@pytest.mark.parametrize(
    "encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "cp1252"]
)
def test_any_encoding_that_real_files_have_is_read(
    empty: Session, folder: Path, encoding: str
) -> None:
    file = write(folder, {"a.txt": ENCODED.encode(encoding)}) / "a.txt"
    index(empty, file)
    assert chunks_of(empty, file)[0]["content"] == ENCODED.strip()


def test_latin_1_in_python_follows_its_cookie(empty: Session, folder: Path) -> None:
    code = "# -*- coding: latin-1 -*-\nGREETING = 'Grüße, señor'\n"
    file = write(folder, {"a.py": code.encode("latin-1")}) / "a.py"
    index(empty, file)
    assert "Grüße, señor" in chunks_of(empty, file)[0]["content"]


def test_invalid_utf_8_costs_a_letter_and_not_the_file(empty: Session, folder: Path) -> None:
    content = b"Ordinary words, and more of them. " * 20 + b"\xff\xfe\x80 after that."
    file = write(folder, {"a.txt": content}) / "a.txt"
    index(empty, file)
    text = "".join(chunk["content"] for chunk in chunks_of(empty, file))
    assert "Ordinary words" in text
    assert "after that." in text


def test_python_that_does_not_parse_falls_back_to_lines(empty: Session, folder: Path) -> None:
    code = "def broken(:\n    return 'the answer'\n"
    file = write(folder, {"a.py": code}) / "a.py"
    assert index(empty, file)["file_format"] == "code"
    [chunk] = chunks_of(empty, file)
    assert chunk["content"] == code.rstrip()
    assert set(chunk["metadata"]) == COMMON_FIELDS | LINE_FIELDS


def test_a_file_that_is_not_there(session: Session, folder: Path) -> None:
    path = folder / "README.md"
    answer = session.call("index_file", file_path=str(path))
    assert failed(answer, "FILE_NOT_FOUND") == f"File not found: {path}"
    assert answer["details"]["path"] == str(path)
    assert "Check the path" in answer["details"]["reason"]


@pytest.mark.parametrize(
    "path", ["", " ", "\0", "/", "x" * 4000, "~nobody-of-that-name/a.md", "/dev/null", "/dev/zero"]
)
def test_what_is_no_file_is_not_found(session: Session, path: str) -> None:
    answer = session.call("index_file", file_path=path)
    assert failed(answer, "FILE_NOT_FOUND") == f"File not found: {path}"


def test_a_folder_is_no_file(session: Session, folder: Path) -> None:
    answer = session.call("index_file", file_path=str(folder))
    assert failed(answer, "FILE_NOT_FOUND") == f"File not found: {folder}"
    assert "folder" in answer["details"]["reason"]


def test_links_that_lead_nowhere_are_not_found(session: Session, folder: Path) -> None:
    (folder / "broken.md").symlink_to(folder / "nothing.md")
    (folder / "loop.md").symlink_to(folder / "loop.md")
    for name in ("broken.md", "loop.md"):
        answer = session.call("index_file", file_path=str(folder / name))
        assert failed(answer, "FILE_NOT_FOUND") == f"File not found: {folder / name}"


@pytest.mark.parametrize(
    ("name", "extension"),
    [("letter.odt", ".odt"), ("a.MDX", ".MDX"), ("Makefile", "Makefile"), (".md", ".md")],
)
def test_another_extension(session: Session, folder: Path, name: str, extension: str) -> None:
    write(folder, {name: "text"})
    answer = session.call("index_file", file_path=str(folder / name))
    message = failed(answer, "UNSUPPORTED_FORMAT")
    assert message == f"Unsupported file format: {extension}"
    for supported in (".md", ".pdf", ".txt", ".py"):
        assert supported in answer["details"]["reason"]


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("empty.txt", b"", "empty"),
        ("blank.md", b" \n\t\n\r\n", "empty"),
        ("empty.py", b"", "empty"),
        ("binary.txt", bytes(range(256)) * 40, "text"),
        ("picture.md", b"\x89PNG\r\n\x1a\n" + os.urandom(2000), "text"),
        ("program.py", Path(sys.executable).read_bytes()[:50_000], "text"),
        ("empty.pdf", b"", ""),
        ("text.pdf", b"This is no PDF at all.", ""),
    ],
)
def test_what_has_no_text_in_it(
    session: Session, folder: Path, name: str, content: bytes, reason: str
) -> None:
    write(folder, {name: content})
    answer = session.call("index_file", file_path=str(folder / name))
    assert failed(answer, "EXTRACTION_FAILED") == "Failed to extract content"
    assert reason in answer["details"]["reason"]
    assert name in answer["details"]["path"]


def test_a_pdf_that_cannot_be_read(session: Session, folder: Path) -> None:
    for file in (
        truncated_pdf(folder / "torn.pdf"),
        locked_pdf(folder / "locked.pdf"),
        make_pdf(folder / "blank.pdf", [Blank()]),
    ):
        answer = session.call("index_file", file_path=str(file))
        assert failed(answer, "EXTRACTION_FAILED") == "Failed to extract content"
        assert file.name in answer["details"]["reason"]


def test_a_file_that_may_not_be_read(new_home: NewHome, folder: Path) -> None:
    command: tuple[str, ...] = ("docvec-mcp",)
    if os.geteuid() == 0:
        # Root reads everything, but for what is taken from it.
        bounds = "--bounding-set=-dac_override,-dac_read_search"
        command = ("/usr/bin/setpriv", bounds, str(SCRIPTS / "docvec-mcp"))
        if not Path(command[0]).exists():
            pytest.skip("setpriv is needed to take root's rights away, and is not installed")
    closed = write(folder, {"closed.txt": "Not for you.\n"}) / "closed.txt"
    closed.chmod(0)
    write(folder, {"open.txt": "For all.\n", "cellar/a.txt": "Below.\n"})
    (folder / "cellar").chmod(0)
    try:
        with run_stdio(new_home(), {}, command) as session:
            answer = session.call("index_file", file_path=str(closed))
            assert failed(answer, "PERMISSION_DENIED") == f"Permission denied: {closed}"
            assert "permissions" in answer["details"]["reason"]
            answer = session.call("index_directory", dir_path=str(folder / "cellar"))
            message = failed(answer, "PERMISSION_DENIED")
            assert message == f"Permission denied: {folder / 'cellar'}"
            # The rest of a folder is indexed, and what is closed is said.
            data = index_all(session, folder)
            assert data["new_documents"] == 1
            assert {error["file_path"]: error["error_code"] for error in data["errors"]} == {
                str(closed): "PERMISSION_DENIED",
                str(folder / "cellar"): "PERMISSION_DENIED",
            }
    finally:
        (folder / "cellar").chmod(0o700)
