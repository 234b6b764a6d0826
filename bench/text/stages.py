"""Each stage of ingest alone, on the same documents: where the next bottleneck is.

Reading pages in workers, chunking, embedding, storing: one after the other instead of overlapping.
What embedding alone takes is what ingest as a whole can't be quicker than. `alone.py` is what is
measured.
"""

import shutil
import sys
from collections import defaultdict
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from bench.processes import watch_memory
from bench.sides import PeerSession, run_peer
from quinion.settings import Settings

STAGES = {
    "read": "reading pages, in workers",
    "chunk": "chunking, one thread",
    "embed": "embedding, all cores",
    "store": "storing, Chroma's copy too",
}
"""What is asked for, in this order, and what it is called."""


@dataclass(frozen=True)
class Cost:
    wall_s: float = 0.0
    cpu_s: float = 0.0
    embedding_cpu_s: float = 0.0
    """Of the threads that embed."""

    def __add__(self, other: "Cost") -> "Cost":
        return Cost(
            self.wall_s + other.wall_s,
            self.cpu_s + other.cpu_s,
            self.embedding_cpu_s + other.embedding_cpu_s,
        )


@dataclass
class Alone:
    """What each stage took, and what embeds."""

    engine: str = ""
    costs: dict[str, Cost] = field(default_factory=lambda: defaultdict(Cost))


@dataclass
class StagesSession:
    """Documents to be taken through all stages, and what that cost."""

    session: PeerSession
    alone: Alone = field(default_factory=Alone)

    async def ingest(self, files: Sequence[Path]) -> None:
        """Take the documents through one stage after the other."""
        with watch_memory(*self.session.pids):  # not wanted, but the sides bear it too
            for stage in STAGES:
                answer = await self.session.call(stage, [str(file) for file in files])
                self.alone.costs[stage] += Cost(**answer)


@asynccontextmanager
async def run_stages(home: Path, warm_up: Sequence[Path]) -> AsyncIterator[StagesSession]:
    """An engine on an empty home beside our server's `home`, with what that has of the model.

    So it embeds with the same, whatever was chosen there. What is ingested first is not counted.
    """
    own = home.with_name(f"{home.name}-stages")
    shutil.copytree(Settings(home=home).models, Settings(home=own).models)
    log = home.with_name("stages.log")
    async with run_peer(Path(sys.executable), "bench.text.alone", own, log) as session:
        await StagesSession(session).ingest(warm_up)
        engine = (await session.call("fingerprint", None))["fingerprint"]
        yield StagesSession(session, Alone(engine))
