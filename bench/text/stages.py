"""Cost of each ingest stage alone, to find the next bottleneck.

Reading pages in workers, chunking, embedding and storing run one after the other instead of
overlapping. The time of embedding alone is a lower bound for ingest. `alone.py` is the measured
process.
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
"""Requests in execution order, with their display names."""


@dataclass(frozen=True)
class Cost:
    wall_s: float = 0.0
    cpu_s: float = 0.0
    embedding_cpu_s: float = 0.0
    """CPU time of the embedding threads."""

    def __add__(self, other: "Cost") -> "Cost":
        return Cost(
            self.wall_s + other.wall_s,
            self.cpu_s + other.cpu_s,
            self.embedding_cpu_s + other.embedding_cpu_s,
        )


@dataclass
class Alone:
    """Costs of each stage, and the fingerprint of the embedding engine."""

    engine: str = ""
    costs: dict[str, Cost] = field(default_factory=lambda: defaultdict(Cost))


@dataclass
class StagesSession:
    """Session that runs documents through all stages and adds up the costs."""

    session: PeerSession
    alone: Alone = field(default_factory=Alone)

    async def ingest(self, files: Sequence[Path]) -> None:
        """Run the documents through one stage after the other."""
        with watch_memory(*self.session.pids):  # unused, but the sides have this overhead too
            for stage in STAGES:
                answer = await self.session.call(stage, [str(file) for file in files])
                self.alone.costs[stage] += Cost(**answer)


@asynccontextmanager
async def run_stages(home: Path, warm_up: Sequence[Path]) -> AsyncIterator[StagesSession]:
    """Start the stages on an empty home with a copy of the server's model files.

    It therefore embeds with the same engine as the server. The warm-up is not counted.
    """
    own = home.with_name(f"{home.name}-stages")
    shutil.copytree(Settings(home=home).models, Settings(home=own).models)
    log = home.with_name("stages.log")
    async with run_peer(Path(sys.executable), "bench.text.alone", own, log) as session:
        await StagesSession(session).ingest(warm_up)
        engine = (await session.call("fingerprint", None))["fingerprint"]
        yield StagesSession(session, Alone(engine))
