"""Claims and Markdown of the text PDF part."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from bench.part import Claim, claim
from bench.table import number, spread, table
from bench.text import figures
from bench.text.agreement import LEAST_COSINE, Agreement
from bench.text.figures import Quantity, ratios
from bench.text.rounds import Side
from bench.text.stages import STAGES, Alone, Cost
from bench.text.work import Work

HOW_TO_READ = """\
- **quinion runs as desktop clients run it**: `document-store-mcp` on stdio and the engine that it \
starts in the background, driven by an MCP client, with journal, registry, worker processes and \
classification. The peers are plain scripts that read lines of JSON.
- **ingest** is the time from the first request to the last answer, with the model loaded. quinion \
ingests three documents concurrently, as `quinion ingest` does; the peers ingest one after the \
other. LlamaIndex splits page by page, so its chunks differ; compare its pages/s. *CPU time* is \
user and system time of all processes.
- **after the answer**: the chunks are then stored in quinion's index and searchable. They are \
replicated to Chroma after five seconds without a write, or during writes once it is 10,000 \
records behind. The next side waits for that. This cost is not part of the rows above; *storing* \
below includes it.
- **empty store** includes the first start on a machine, at which quinion converts the model and \
benchmarks the engines.
- **cold start** is the time until a new client gets its first answer from a store with documents \
while no engine is running. The files are in the page cache on all sides.
- **ready** means for quinion that `initialize` and `list_tools` are answered, with nothing loaded \
yet; for the peers, that everything is imported and loaded. Compare cold starts instead.
- **query** is each question of the set once, and **repeated query** the same questions a second \
time; ten results each.
- **memory** is the peak of PSS over all processes, workers included. RSS is sampled five times a \
second, and PSS is measured whenever RSS reaches a new maximum. PSS divides a shared page among \
its processes."""


@dataclass(frozen=True)
class Run:
    """Everything that the page shows."""

    work: Work
    ours: Side
    peers: Sequence[Side]
    """The plain stack, then the others."""
    stages: Sequence[Alone]
    """Stage costs by round."""
    agreement: Agreement
    """Agreement of quinion and the plain stack."""

    def against(self, peer: Side, quantity: Quantity) -> list[float]:
        """Return quinion's advantage over the peer by round."""
        return ratios(quantity, self.ours.series[quantity], peer.series[quantity])

    def shares(self) -> list[float]:
        """Return the share of the speed of embedding alone, by wall time and round."""
        took = zip(self.stages, self.ours.series[figures.INGEST], strict=True)
        return [alone.costs["embed"].wall_s / wall_s for alone, wall_s in took]

    def shares_at_one_speed(self) -> list[float]:
        """Return the same share, corrected for changes in the speed of the machine."""
        took = zip(self.stages, self.ours.series[figures.EMBEDDING_CPU], strict=True)
        slower = [cpu_s / alone.costs["embed"].embedding_cpu_s for alone, cpu_s in took]
        return [share * times for share, times in zip(self.shares(), slower, strict=True)]


def claims_of(run: Run) -> list[Claim]:
    plain, *others = run.peers
    again = zip(run.ours.series[figures.INGEST], run.ours.series[figures.AGAIN], strict=True)
    return [
        claim(
            "text PDFs end to end, chunks/s against the plain stack",
            run.against(plain, figures.CHUNKS),
            target=2.5,
        ),
        *[
            claim(
                f"text PDFs end to end, pages/s against {peer.name}",
                run.against(peer, figures.PAGES),
            )
            for peer in others
        ],
        claim(
            "text PDFs end to end, share of the speed of embedding alone, at one speed",
            run.shares_at_one_speed(),
            unit="",
            target=0.9,
        ),
        claim("the same share by wall time, uncorrected", run.shares(), unit=""),
        claim(
            "cold start to first answer, against the plain stack",
            run.against(plain, figures.COLD),
            target=5,
        ),
        claim(
            "peak memory while ingesting, of the plain stack's",
            [1 / ratio for ratio in run.against(plain, figures.PEAK)],
            target=0.5,
            at_most=True,
        ),
        claim(
            "ingesting an unchanged folder again, against the first time",
            [first / second for first, second in again],
            target=50,
        ),
    ]


def write_body(run: Run) -> str:
    return "\n\n".join(
        (
            _documents(run),
            _comparison(run),
            _agreement(run),
            "### Each stage alone",
            _stages(run),
            "### How to read this",
            HOW_TO_READ,
            "\n".join(_versions(run)),
            "\n".join(_left_out(run.work.left_out)),
        )
    )


def _documents(run: Run) -> str:
    count = len(run.stages)
    engines = " and ".join(f"`{name}`" for name in dict.fromkeys(one.engine for one in run.stages))
    return (
        f"{len(run.work.files)} PDFs with {run.work.page_count:,} pages, after "
        f"{len(run.work.warm_up)} short ones that are not counted, and "
        f"{len(run.work.questions)} questions; {count} "
        f"{'round' if count == 1 else 'rounds'} with empty stores. quinion embeds with "
        f"{engines}. A ratio above 1 means that quinion is better: faster, or smaller."
    )


def _comparison(run: Run) -> str:
    sides = [*run.peers, run.ours]
    head = ["", *(side.name for side in sides), *(f"against {peer.name}" for peer in run.peers)]
    return table(head, [_line(run, quantity) for quantity in figures.ALL])


def _line(run: Run, quantity: Quantity) -> list[str]:
    unit = f" {quantity.unit}" if quantity.unit else ""
    return [
        quantity.name,
        *(
            f"{number(median(values))}{unit}" if (values := side.series.get(quantity)) else ""
            for side in (*run.peers, run.ours)
        ),
        *(
            spread(run.against(peer, quantity), "×") if quantity in peer.series else ""
            for peer in run.peers
        ),
    ]


def _agreement(run: Run) -> str:
    found = run.agreement
    return (
        f"Identical in quinion and the plain stack: {found.same_texts:,} of {found.chunks:,} chunk "
        f"texts, character for character ({found.different_texts:,} distinct ones; quinion caches "
        "recent texts and embeds them once). The cosine of their vectors is at least "
        f"{found.cosine_min:.7f}, {found.cosine_mean:.7f} on average (required: at least "
        f"{LEAST_COSINE}); no component differs by more than {found.difference_max:.1g}."
    )


def _stages(run: Run) -> str:
    took_s, cpu_ms = run.ours.series[figures.INGEST], run.ours.series[figures.CHUNK_CPU]
    chunks = median(run.ours.series[figures.CHUNKS]) * median(took_s)
    costs = {name: _median([alone.costs[name] for alone in run.stages]) for name in STAGES}
    whole = Cost(median(took_s), median(cpu_ms) * chunks / 1000)
    rows = [(STAGES[name], cost) for name, cost in costs.items()]
    rows.append(("**the server, all stages**", whole))
    return (
        "The same documents run through the engine's functions, one stage after the other, "
        "alternating with the server. If embedding hid all other work, the server would take as "
        "long as embedding alone; but the other stages compete with it for the same cores. The two "
        "are measured seconds apart, and a shared machine may be a tenth slower by then. The share "
        "*at one speed* corrects for that: it is multiplied by the CPU time of the embedding "
        "threads in the server, divided by their CPU time alone for the same texts. This also "
        "removes the small slowdown of embedding while pages are read concurrently.\n\n"
        + table(
            ("stage", "wall time", "CPU time", "share of wall time", "chunks/s"),
            [
                (
                    name,
                    f"{number(cost.wall_s)} s",
                    f"{number(cost.cpu_s)} s",
                    f"{cost.wall_s / whole.wall_s:.0%}",
                    number(chunks / cost.wall_s),
                )
                for name, cost in rows
            ],
        )
    )


def _median(costs: Sequence[Cost]) -> Cost:
    return Cost(median(cost.wall_s for cost in costs), median(cost.cpu_s for cost in costs))


def _versions(run: Run) -> Iterator[str]:
    for side in (run.ours, *run.peers):
        versions = ", ".join(f"{name} {number}" for name, number in side.versions.items())
        yield f"- {side.name}: {versions}."


def _left_out(groups: Mapping[str, Sequence[str]]) -> Iterator[str]:
    for reason, names in groups.items():
        yield f"- Left out on all sides, {reason}: {', '.join(f'`{name}`' for name in names)}."
