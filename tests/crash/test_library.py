"""kill -9 while a document comes into the library or leaves it: it is there whole or not at all.

After a step the disk is as it is before the next one, so a kill after each step is enough.
"""

import hashlib
import shutil
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client

from quinion.pipeline.engine import Engine, open_engine
from quinion.servers import doclibrary
from quinion.servers.doclibrary.records import CONTENT, DOCUMENTS
from quinion.settings import Settings
from tests.crash.dying import die_at
from tests.documents import text_pdf

SLUG = "bats"
# Doubt and copy of the original, an intent, the passage, the document's line, the striking out,
# trust in the original: before and after each.
ADD_MOMENTS = 2 * (2 + 1 + 1 + 1 + 1 + 1)
WHOLE_FROM = ADD_MOMENTS - 3
"""From the end of the striking out on."""
# Doubt, an intent, both collections, the striking out, the original, the pictures.
REMOVE_MOMENTS = 2 * (1 + 1 + 2 + 1 + 1 + 1)
GONE_FROM = 3
"""From the end of the intent on."""


@pytest.fixture
def home(tmp_path: Path, models: Path) -> Path:
    path = tmp_path / "home"
    path.mkdir()
    (path / "models").symlink_to(models)
    return path


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    text = "The bats of the old mill fly out at dusk."
    return text_pdf(tmp_path_factory.mktemp("files") / f"{SLUG}.pdf", text)


@pytest.fixture(scope="module")
def stock(tmp_path_factory: pytest.TempPathFactory, models: Path, file: Path) -> Path:
    """A home with the document, one page of which has been shown."""
    path = tmp_path_factory.mktemp("stock")
    (path / "models").symlink_to(models)

    async def fill() -> None:
        async with open_engine(Settings(home=path, workers=1)) as engine:
            await call(engine, "add_document", file_path=str(file))
            await call(engine, "get_page_image", document_slug=SLUG, page_number=1)

    anyio.run(fill)
    return path


async def call(engine: Engine, tool: str, **arguments: Any) -> dict[str, Any]:
    async with Client(doclibrary.build(engine)) as client:
        return (await client.call_tool(tool, arguments)).structured_content or {}


async def look(home: Path, file: Path) -> tuple[int, int, list[str]]:
    """Documents, passages and kept files after the restart; then the document is added again,
    after which it is there whole."""
    async with open_engine(Settings(home=home, workers=1)) as engine:
        listed = await call(engine, "list_documents_paginated")
        passages = len(await engine.get(CONTENT))
        found = listed["pagination"]["total_documents"], passages, kept(home)
        answer = await call(engine, "add_document", file_path=str(file))
        assert answer["status"] == ("already_in_library" if found[0] else "added")
        assert len(await engine.get(DOCUMENTS)) == len(await engine.get(CONTENT)) == 1
    assert [name for name in kept(home) if name.startswith("originals")] == [
        f"originals/{original_of(file)}"
    ]
    return found


def kept(home: Path) -> list[str]:
    library = home / "library"
    return sorted(
        path.relative_to(library).as_posix() for path in library.rglob("*") if path.is_file()
    )


def original_of(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


@pytest.mark.parametrize("moment", [2, *range(3, ADD_MOMENTS, 2)])
def test_a_kill_while_adding_leaves_all_or_nothing(moment: int, home: Path, file: Path) -> None:
    assert die_at("add_document", home, file, moment).returncode == -9
    whole = (1, 1, [f"originals/{original_of(file)}"])
    assert anyio.run(look, home, file) == (whole if moment >= WHOLE_FROM else (0, 0, []))


@pytest.mark.parametrize("moment", range(1, REMOVE_MOMENTS, 2))
def test_a_kill_while_removing_leaves_all_or_nothing(
    moment: int, tmp_path: Path, stock: Path, file: Path
) -> None:
    home = tmp_path / "home"
    shutil.copytree(stock, home, symlinks=True)
    whole = (1, 1, kept(home))
    assert len(whole[2]) == 2
    assert die_at("remove_document", home, Path(SLUG), moment).returncode == -9
    assert anyio.run(look, home, file) == (whole if moment < GONE_FROM else (0, 0, []))


def test_the_moments_above_are_all_that_there_are(home: Path, file: Path) -> None:
    added = die_at("add_document", home, file, ADD_MOMENTS)
    assert "'status': 'added'" in added.stdout
    removed = die_at("remove_document", home, Path(SLUG), REMOVE_MOMENTS)
    assert f"'slug': '{SLUG}'" in removed.stdout
    assert (added.returncode, removed.returncode) == (0, 0)
