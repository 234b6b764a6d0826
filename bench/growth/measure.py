"""Entry point of the part `growth`: from an empty home to a million chunks."""

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from time import perf_counter, process_time

import anyio.to_thread
import numpy as np

from bench.growth.ask import ask, find_by, run_docvec
from bench.growth.body import claims_of, series_of, write_body
from bench.growth.fill import Filled
from bench.growth.found import BARE, OURS, PLAIN, Find, Run, Size
from bench.growth.made import FILTERS, PART_OF_PATH, Made
from bench.growth.recall import measure_recall
from bench.judged_sets import read_cranfield, read_xquad
from bench.part import Part, Setting
from bench.sides import ROOT, run_peer
from quinion.embed.base import Vectors
from quinion.embed.local.embedder import LocalEmbedder
from quinion.engine import ENGINES
from quinion.settings import Settings

SIZES = (10_000, 100_000, 1_000_000)
QUICK_SIZES = (2_000, 8_000)
COMPARED = {100_000, QUICK_SIZES[-1]}
"""Sizes at which the plain stack is measured too."""
ROUNDS, QUICK_ROUNDS = 3, 1
QUESTIONS, QUICK_QUESTIONS = 250, 20
"""Questions per round."""
EMBEDDED_AT_ONCE = 256
QUICK_TEXTS = 100


async def measure(setting: Setting) -> Part:
    """Grow one home from size to size and measure searches at each."""
    made, questions, run = await anyio.to_thread.run_sync(prepare, setting)
    first = next(iter(questions))
    run.empty_mb = await measure_empty(setting.scratch, first)
    stored = 0
    for chunks in QUICK_SIZES if setting.quick else SIZES:
        print(f"  {chunks:,} chunks", file=sys.stderr, flush=True)
        home = setting.scratch / "home"
        size = Size(chunks, await fill(home, setting, stored, chunks))
        await measure_size(setting, size, list(questions))
        if chunks in COMPARED:
            await compare(setting, size, list(questions))
        await anyio.to_thread.run_sync(measure_recall, made, size, questions)
        run.sizes.append(size)
        stored = chunks
    return Part("growth", "Growth", write_body(run), claims_of(run), series_of(run))


def prepare(setting: Setting) -> tuple[Made, Mapping[str, Vectors], Run]:
    """Embed the real texts and questions."""
    folder = setting.corpus / "retrieval"
    sets = [read_cranfield(folder / "cranfield"), read_xquad(folder / "xquad.en.json")]
    texts = [page.text for judged in sets for pages in judged.documents.values() for page in pages]
    questions = list(dict.fromkeys(text for judged in sets for text in judged.queries.values()))
    np.random.default_rng(1).shuffle(questions)
    if setting.quick:
        texts, questions = texts[:QUICK_TEXTS], questions[:QUICK_TEXTS]
    settings = Settings(home=setting.scratch / "home")
    embedder = LocalEmbedder(settings.models, numerics=ENGINES.get(settings.embedding_engine))
    embedder.embed(texts[:1])  # not counted: loads the model
    cpu = process_time()
    parts = [
        embedder.embed(texts[start : start + EMBEDDED_AT_ONCE])
        for start in range(0, len(texts), EMBEDDED_AT_ONCE)
    ]
    run = Run(1000 * (process_time() - cpu) / len(texts), embedder.fingerprint)
    made = Made(texts, np.concatenate(parts))
    made.save(setting.scratch / "made.npz")
    return made, {question: embedder.embed_query(question) for question in questions}, run


async def fill(home: Path, setting: Setting, start: int, end: int, *options: str) -> Filled:
    """Store the chunks from `start` up to `end`."""
    made = setting.scratch / "made.npz"
    command = [sys.executable, "-m", "bench.growth.fill", made, home, start, end, *options]
    done = await anyio.run_process([*map(str, command)], cwd=ROOT, stderr=None)
    return Filled(**json.loads(done.stdout))


async def measure_empty(scratch: Path, question: str) -> float:
    """Return the memory of a server with an empty index after one search."""
    async with run_docvec(scratch / "empty", scratch / "docvec.log") as server:
        await server.find(question, FILTERS[0])
        return server.memory_mb()


async def measure_size(setting: Setting, size: Size, questions: Sequence[str]) -> None:
    """Measure startup, searches, memory and disk at one size."""
    home, log = setting.scratch / "home", setting.scratch / "docvec.log"
    began = perf_counter()
    async with run_docvec(home, log) as server:
        await server.find(questions[-1], FILTERS[0])
        size.open_s = perf_counter() - began
        await ask_rounds(setting, size, {OURS: server.find}, questions)
        size.memory_mb = server.memory_mb()
    size.disk_mb = sum(f.stat().st_size for f in home.rglob("*") if f.is_file()) / 1e6


async def compare(setting: Setting, size: Size, questions: Sequence[str]) -> None:
    """Compare quinion's engine with the plain stack; both alternate and use the same protocol."""
    home, store = setting.scratch / "home", setting.scratch / "plain"
    size.plain = await fill(store, setting, 0, size.chunks, "--plain")
    ours = run_peer(Path(sys.executable), "bench.growth.bare", home, setting.scratch / "bare.log")
    plain = run_peer(setting.peer, "bench.growth.plain", store, setting.scratch / "plain.log")
    async with ours as engine, plain as stack:
        sides = {BARE: find_by(engine), PLAIN: find_by(stack)}
        await ask_rounds(setting, size, sides, questions)


async def ask_rounds(
    setting: Setting,
    size: Size,
    sides: Mapping[str, Find],
    questions: Sequence[str],
) -> None:
    """Measure all rounds; each question is asked once, so that no cached vector is used."""
    filters = {who: FILTERS if who == PLAIN else (*FILTERS, PART_OF_PATH) for who in sides}
    for find in sides.values():
        for question in questions[-3:-1]:  # not counted: lazy loading
            await find(question, FILTERS[1])
    count = QUICK_QUESTIONS if setting.quick else QUESTIONS
    for number in range(QUICK_ROUNDS if setting.quick else ROUNDS):
        some = questions[number * count : (number + 1) * count]
        size.rounds.append(await ask(sides, filters, some))
