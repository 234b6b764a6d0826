"""Enrichment: elements of a real document, described by a vision model over HTTP."""

import logging
import shutil
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import pytest
from mcp import Client
from mcp.types import CallToolResult, TextContent
from pydantic import SecretStr

from quinion.engine import open_engine
from quinion.errors import BadSetting, DocumentMissing, EnricherUnavailable
from quinion.ingest.library.adder import DocumentAdder
from quinion.ingest.library.enricher import MAX_SKIPS_IN_A_ROW, Enricher, Enrichment
from quinion.ingest.library.library import Library
from quinion.ingest.library.records import LibraryElement
from quinion.ingest.progress import no_progress
from quinion.model.element import Box, ElementType
from quinion.servers import doclibrary
from quinion.servers.base import serving
from quinion.servers.doclibrary.search import search
from quinion.settings import Settings
from quinion.store.embedded.store import EmbeddedStore
from tests.element_documents import Paper
from tests.json_server import hang, refuse
from tests.vision_server import LATEX, MODEL, Question, VisionServer, tell, vision_server

pytestmark = pytest.mark.anyio

SLUG = "survey"
LABELS = ["Figure 1", "(1)", "Table 1", "Figure 2", "(2)"]
PATIENCE_S = 60.0


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def make_paper(path: Path) -> Path:
    with Paper(path) as paper:
        paper.prose(60, 6)
        paper.drawing(Box(100, 160, 420, 330))
        paper.write(100, 348, "Figure 1. Plan of the first floor")
        paper.prose(370, 5)
        paper.equation(460, "E = mv + x", "(1)")
        paper.prose(480, 4)
        paper.write(70, 560, "Table 1. Houses by street")
        paper.table(570)
        paper.turn()
        paper.prose(60, 6)
        paper.picture(Box(100, 160, 420, 330))
        paper.write(100, 348, "Figure 2. View from the lane")
        paper.prose(370, 4)
        paper.equation(460, "a = b + c", "(2)")
        paper.prose(480, 4)
    return path


@pytest.fixture(scope="module")
def added(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, int]:
    """A home with a document that was added with a vision model, and the number of requests to that
    model."""
    folder = tmp_path_factory.mktemp("added")
    paper = make_paper(folder / f"{SLUG}.pdf")

    async def add(server: VisionServer) -> None:
        async with opened(folder / "home", server) as library:
            await DocumentAdder(library).add(str(paper), no_progress)
            elements = await library.elements(SLUG)
            assert [one.element.label for one in elements] == LABELS
            for one in elements:  # caches the pictures, so that no worker is needed later
                await library.show_element(one)

    with vision_server() as server:
        anyio.run(add, server)
        return folder / "home", len(server.requests)


def copy(home: Path, target: Path) -> Path:
    """Copy the home. The read-only model is shared."""
    shutil.copytree(home, target, ignore=shutil.ignore_patterns("models"))
    (target / "models").symlink_to(home / "models")
    return target


@pytest.fixture
def home(added: tuple[Path, int], tmp_path: Path) -> Path:
    return copy(added[0], tmp_path / "home")


@pytest.fixture
def server() -> Iterator[VisionServer]:
    with vision_server() as server:
        yield server


def settings(home: Path, server: VisionServer, **others: Any) -> Settings:
    return Settings(
        home=home,
        chroma_dir=home / "chroma",
        workers=1,
        **{"vision_url": server.url, "vision_model": MODEL, **others},
    )


@asynccontextmanager
async def opened(home: Path, server: VisionServer, **others: Any) -> AsyncIterator[Library]:
    async with open_engine(settings(home, server, **others)) as engine:
        yield Library(engine)


async def enrich(library: Library, limit: int | None = None) -> Enrichment:
    return await Enricher(library).enrich(SLUG, limit, no_progress)


async def described(library: Library) -> list[str]:
    return [
        one.element.label for one in await library.elements(SLUG) if one.description or one.latex
    ]


def hold(handler: Any, answer: Callable[[str], None], question: Question) -> None:
    """Answer when the server is released."""
    handler.ours.arrived.set()
    handler.ours.released.wait()
    answer(handler.ours.answer(question))


def wait_until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


async def until(condition: Callable[[], bool]) -> None:
    await anyio.to_thread.run_sync(wait_until, condition)


def test_adding_a_document_makes_no_requests(added: tuple[Path, int]) -> None:
    assert added[1] == 0


async def test_figures_get_descriptions_and_equations_get_latex(
    home: Path, server: VisionServer
) -> None:
    async with opened(home, server) as library:
        result = await enrich(library)
        assert (result.asked, result.remembered, result.remaining) == (5, 0, 0)
        for figure in await library.elements(SLUG):
            if figure.element.type is ElementType.EQUATION:
                assert (figure.latex, figure.description) == (LATEX, "")
            else:
                assert figure.description.startswith(f"A zeppelin above {figure.element.label}, ")
                assert figure.latex == ""
    assert sorted(question.label for question in server.questions) == sorted(LABELS)


async def test_a_description_is_searchable(home: Path, server: VisionServer) -> None:
    async with opened(home, server) as library:
        [before, *_] = await search(library, "a zeppelin in the sky", 1, SLUG, None)
        await enrich(library)
        hits = await search(library, "a zeppelin in the sky", 3, SLUG, None)
    assert hits[-1].score > before.score + 0.1
    assert {hit.record.metadata["label"] for hit in hits} == {"Figure 1", "Table 1", "Figure 2"}


async def test_described_elements_are_not_requested_again(home: Path, server: VisionServer) -> None:
    async with opened(home, server) as library:
        await enrich(library)
        again = await enrich(library)
    assert (again.asked, again.remembered) == (0, 0)
    assert len(server.questions) == 5


async def test_a_limit_leaves_the_rest_for_later(home: Path, server: VisionServer) -> None:
    async with opened(home, server) as library:
        first = await enrich(library, 2)
        assert (first.asked, first.remaining) == (2, 3)
        assert await described(library) == LABELS[:2]
        assert (await enrich(library, 10)).asked == 3
        assert await described(library) == LABELS


def copy_remarks(home: Path, other: Path) -> None:
    """Copy the answers of the vision model, which are key-values of the store."""
    with closing(EmbeddedStore(home / "store")) as source:
        remarks = source.values("remark ")
    with closing(EmbeddedStore(other / "store")) as target, target.transaction() as transaction:
        for key, value in remarks.items():
            transaction.set_value(key, value)


@pytest.mark.slow
async def test_a_document_that_is_added_again_is_described_without_a_question(
    home: Path, server: VisionServer, added: tuple[Path, int], tmp_path: Path
) -> None:
    async with opened(home, server) as library:
        await enrich(library)
    anew = copy(added[0], tmp_path / "anew")
    copy_remarks(home, anew)
    async with opened(anew, server) as library:
        result = await enrich(library)
        assert (result.asked, result.remembered) == (0, 5)
        assert await described(library) == LABELS
    assert len(server.questions) == 5


async def test_another_model_is_asked_itself(
    home: Path, server: VisionServer, added: tuple[Path, int], tmp_path: Path
) -> None:
    async with opened(home, server) as library:
        await enrich(library)
    anew = copy(added[0], tmp_path / "anew")
    copy_remarks(home, anew)
    async with opened(anew, server, vision_model="another") as library:
        with pytest.raises(EnricherUnavailable, match="The model `another` does not exist"):
            await enrich(library)


async def test_at_most_two_requests_are_in_progress(home: Path, server: VisionServer) -> None:
    server.always = hold
    async with opened(home, server) as library, anyio.create_task_group() as group:
        group.start_soon(enrich, library)
        await until(lambda: len(server.questions) == 2)
        await anyio.sleep(0.5)
        assert len(server.questions) == 2
        server.released.set()
    assert len(server.questions) == 5


async def test_one_document_asked_for_twice_at_once_is_described_once(
    home: Path, server: VisionServer
) -> None:
    async with opened(home, server) as library, anyio.create_task_group() as group:
        enricher = Enricher(library)
        for _ in range(2):
            group.start_soon(enricher.enrich, SLUG, None, no_progress)
    assert len(server.questions) == 5


async def test_progress_is_reported_for_each_element(home: Path, server: VisionServer) -> None:
    told: list[tuple[float, float, str]] = []

    async def progress(*step: Any) -> None:
        told.append(step)

    async with opened(home, server) as library:
        await Enricher(library).enrich(SLUG, None, progress)
    assert [done for done, _, _ in told] == [1, 2, 3, 4, 5]
    assert {total for _, total, _ in told} == {5}
    assert "described (1) on page 1, " in " ".join(words for _, _, words in told)


# Failures.


@pytest.mark.slow
async def test_descriptions_before_a_failure_are_kept(home: Path, server: VisionServer) -> None:
    server.fail(tell("x = y"), tell("x = y"))
    server.always = refuse(500, "boom")
    async with opened(home, server) as library:
        with pytest.raises(EnricherUnavailable, match="answers 500: boom"):
            await enrich(library)
        assert len(await described(library)) == 2
        server.always = None
        assert (await enrich(library)).asked == 3
        assert await described(library) == LABELS


async def test_a_picture_that_the_model_does_not_take_is_passed_over(
    home: Path, server: VisionServer
) -> None:
    server.fail(refuse(400, "too small"))
    async with opened(home, server) as library:
        result = await enrich(library)
        [(figure, reason)] = result.not_described
        assert "answers 400: too small" in reason
        assert await described(library) == [x for x in LABELS if x != figure.element.label]
        assert (await enrich(library)).asked == 1
        assert await described(library) == LABELS


async def test_a_model_that_takes_no_pictures_is_not_asked_for_ever(
    home: Path, server: VisionServer
) -> None:
    server.always = refuse(400, "this model is blind")
    async with opened(home, server) as library:
        with pytest.raises(EnricherUnavailable, match="this model is blind"):
            await enrich(library)
    assert len(server.questions) <= MAX_SKIPS_IN_A_ROW + 1


async def test_a_cancelled_run_ends_immediately_and_keeps_its_descriptions(
    home: Path, server: VisionServer
) -> None:
    server.fail(tell("x = y"), tell("x = y"))
    server.always = hang
    async with opened(home, server) as library:
        async with anyio.create_task_group() as group:
            group.start_soon(enrich, library)
            await until(lambda: len(server.questions) == 4)
            begin = time.monotonic()
            group.cancel_scope.cancel()
        assert time.monotonic() - begin < 10
        assert len(await described(library)) == 2


@pytest.mark.slow
def test_a_killed_run_is_resumed(home: Path, server: VisionServer) -> None:
    server.fail(tell("x = y"), tell("x = y"))
    server.always = hang
    with subprocess.Popen(
        [str(Path(sys.executable).parent / "quinion"), "library", "enrich", SLUG],
        env={
            "HOME": str(home),
            "QUINION_HOME": str(home),
            "CHROMA_PERSIST_DIR": str(home / "chroma"),
            "DOCLIBRARY_VISION_URL": server.url,
            "DOCLIBRARY_VISION_MODEL": MODEL,
        },
    ) as process:
        wait_until(lambda: len(server.questions) == 4)
        process.kill()
    server.always = None

    async def go_on() -> None:
        async with opened(home, server) as library:
            assert await described(library) == []
            result = await enrich(library)
            assert (result.asked, result.remembered) == (3, 2)
            assert await described(library) == LABELS

    anyio.run(go_on)


async def test_a_document_that_was_removed_meanwhile_does_not_come_back(
    home: Path, server: VisionServer
) -> None:
    server.always = hold
    async with opened(home, server) as library:
        async with anyio.create_task_group() as group:
            group.start_soon(enrich, library, 1)
            await until(server.arrived.is_set)
            await library.remove(SLUG)
            server.released.set()
        with pytest.raises(DocumentMissing):
            await library.elements(SLUG)
        assert await search(library, "zeppelin", 10, None, None) == []


@pytest.mark.parametrize(
    ("others", "missing"),
    [
        ({"vision_url": None}, "DOCLIBRARY_VISION_URL"),
        ({"vision_model": None}, "DOCLIBRARY_VISION_MODEL"),
    ],
)
async def test_without_a_model_the_error_names_the_setting(
    home: Path, server: VisionServer, others: dict[str, Any], missing: str
) -> None:
    async with opened(home, server, **others) as library:
        with pytest.raises(
            BadSetting, match=f"^{missing} is not set, .* Set DOCLIBRARY_VISION_URL"
        ):
            await enrich(library)


async def test_the_key_is_in_no_log(
    home: Path, server: VisionServer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    key = "sk-quinion-0123456789"
    server.api_key = key
    async with opened(home, server, vision_api_key=SecretStr(key)) as library:
        await enrich(library, 1)
        server.always = refuse(500, f"you sent {key}")
        with pytest.raises(EnricherUnavailable) as caught:
            await enrich(library)
    assert key not in caplog.text + caught.value.message


# Formulas.


async def equation(library: Library) -> LibraryElement:
    return await library.element(SLUG, "(1)", None)


async def test_an_equation_is_shown_as_its_latex_where_that_can_be_set(
    home: Path, server: VisionServer
) -> None:
    async with opened(home, server) as library:
        crop = await library.show_element(await equation(library))
        await enrich(library)
        formula = await library.show_element(await equation(library))
        assert formula == await library.pictures.formula(LATEX)
    assert formula != crop


@pytest.mark.parametrize("latex", [r"\unheardof{x} + y", r"\frac{a}{b", r"\left( x"])
async def test_an_equation_whose_latex_cannot_be_set_is_shown_as_on_its_page(
    home: Path, server: VisionServer, latex: str
) -> None:
    server.latex = latex
    async with opened(home, server) as library:
        crop = await library.show_element(await equation(library))
        await enrich(library)
        figure = await equation(library)
        assert figure.latex == latex
        assert await library.show_element(figure) == crop


# The tool.


async def test_the_tool_is_for_the_command_line_and_not_listed(
    home: Path, server: VisionServer
) -> None:
    server.fail(refuse(400, "too small"))
    async with (
        open_engine(settings(home, server)) as engine,
        Client(doclibrary.build(engine)) as client,
    ):
        arguments = {"document_slug": SLUG, "limit": 3}
        refused = (await client.call_tool("enrich_document", arguments)).structured_content
        assert refused is not None
        assert "There is no tool 'enrich_document'" in refused["error"]
        tools = (await client.list_tools()).tools
        assert "enrich_document" not in {tool.name for tool in tools}
        with serving(command=True):
            answer = (await client.call_tool("enrich_document", arguments)).structured_content
        assert answer is not None
        [refused] = answer.pop("not_described")
        assert answer == {"document_slug": SLUG, "asked": 2, "remembered": 0, "remaining": 2}
        assert refused["element_label"] in LABELS
        assert "too small" in refused["reason"]
        server.always = refuse(401)
        with serving(command=True):
            answer = (await client.call_tool("enrich_document", arguments)).structured_content
        assert answer is not None
        assert answer["error"].startswith("Error: The vision model at ")


async def test_a_description_does_not_hide_the_caption(home: Path, server: VisionServer) -> None:
    async with (
        open_engine(settings(home, server)) as engine,
        Client(doclibrary.build(engine)) as client,
    ):
        arguments = {"document_slug": SLUG, "element_label": "Figure 1"}
        for tool in ("get_element_details", "get_element_image"):
            words = text_of(await client.call_tool(tool, arguments))
            assert words.count("Plan of the first floor") == 1
        with serving(command=True):
            await client.call_tool("enrich_document", {"document_slug": SLUG})
        for tool in ("get_element_details", "get_element_image"):
            words = text_of(await client.call_tool(tool, arguments))
            assert words.count("Plan of the first floor") == 1
            assert words.count("A zeppelin above Figure 1") == 1


def text_of(result: CallToolResult) -> str:
    content = result.content[0]
    assert isinstance(content, TextContent)
    return content.text
