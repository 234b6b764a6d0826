"""What was measured on text PDFs, as claims and as Markdown."""

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
- **Ours is the whole server** as desktop clients run it: `document-store-mcp` on stdio and the \
engine that it starts in the background, asked by an MCP client, with journal, registry, worker \
processes and classification. The peers are bare scripts, asked in lines of JSON.
- **ingest** is everything from the first request to the last answer, with the model loaded. Ours \
has three documents under way, as `quinion ingest` has; the peers take one after the other. \
LlamaIndex splits page by page, so its chunks are others; compare pages with it. *Processor time* \
is user and system time of all processes.
- **after the answer**: quinion's ledger has the chunks then, and they are found; Chroma's copy \
follows when nobody has written for five seconds, or while others write if it is 10,000 records \
behind. The next side waits for that, and it is not in the figures above it; *storing* below has \
both.
- **empty store** has the first start of all in it, at which quinion writes its own form of the \
model and tries out the engines.
- **cold start** is a new client on a store with documents, where no engine runs, up to the answer \
to a first question. The files are in the system's cache on all sides.
- **ready** means for ours that `initialize` and `list_tools` are answered, with nothing loaded \
yet; for the peers that all is imported and loaded. Compare cold starts rather than this.
- **query** is each question of the set once, and **asked before** the same ones once more; ten \
results each.
- **memory** is the sum of PSS over all processes, workers included, at its highest: it is \
measured whenever their RSS, which is looked at five times a second, is higher than before. PSS \
counts a page that several processes share once, divided among them."""


@dataclass(frozen=True)
class Run:
    """What there is to tell."""

    work: Work
    ours: Side
    peers: Sequence[Side]
    """The plain stack first."""
    stages: Sequence[Alone]
    """By round."""
    agreement: Agreement
    """Of ours and the plain stack."""

    def against(self, peer: Side, quantity: Quantity) -> list[float]:
        """How many times better ours is, round by round."""
        return ratios(quantity, self.ours.series[quantity], peer.series[quantity])

    def shares(self) -> list[float]:
        """Of the speed that embedding alone would have, by the clock, round by round."""
        took = zip(self.stages, self.ours.series[figures.INGEST], strict=True)
        return [alone.costs["embed"].wall_s / wall_s for alone, wall_s in took]

    def shares_at_one_speed(self) -> list[float]:
        """The same with a processor that is as fast at both."""
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
            "text PDFs end to end, share of what the embedding engine alone gives, at one speed",
            run.shares_at_one_speed(),
            unit="",
            target=0.9,
        ),
        claim("the same share by the clock, whatever the machine's speed", run.shares(), unit=""),
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
        f"{'round' if count == 1 else 'rounds'} with empty stores. Ours embeds with "
        f"{engines}. A ratio above 1 means that quinion is better: quicker, or smaller."
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
        f"The same in ours and in the plain stack: {found.same_texts:,} of {found.chunks:,} chunk "
        f"texts, character for character ({found.different_texts:,} different ones: ours embeds a "
        "text that it met lately only once); cosine of their vectors at least "
        f"{found.cosine_min:.7f}, {found.cosine_mean:.7f} on average (at least {LEAST_COSINE} is "
        f"asked for); no component differs by more than {found.difference_max:.1g}."
    )


def _stages(run: Run) -> str:
    took_s, cpu_ms = run.ours.series[figures.INGEST], run.ours.series[figures.CHUNK_CPU]
    chunks = median(run.ours.series[figures.CHUNKS]) * median(took_s)
    costs = {name: _median([alone.costs[name] for alone in run.stages]) for name in STAGES}
    whole = Cost(median(took_s), median(cpu_ms) * chunks / 1000)
    rows = [(STAGES[name], cost) for name, cost in costs.items()]
    rows.append(("**the server, all of it**", whole))
    return (
        "The same documents through the engine's own functions, one stage after the other, in "
        "turns with the server. If all else were hidden behind embedding, all of it would take as "
        "long as that alone; but all else competes with it for the same cores. Both are measured "
        "seconds apart, and a processor that is shared with strangers may be a tenth slower by "
        "then. So *at one speed* the share is multiplied by what the embedding threads themselves "
        "took in the server, of what the same texts took them alone. That leaves out, too, that "
        "embedding is a little slower while pages are read beside it.\n\n"
        + table(
            ("stage", "wall time", "processor time", "of all, wall", "chunks/s"),
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
