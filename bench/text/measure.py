"""Entry point of the part `text`."""

import sys
from functools import partial

from bench.part import Part, Setting
from bench.sides import find_our_chroma, run_ours, run_peer
from bench.text.agreement import Agreement
from bench.text.body import Run, claims_of, write_body
from bench.text.rounds import Side, run_round
from bench.text.stages import Alone
from bench.text.work import find_work, run_module

ROUNDS = 3
COLD_STARTS = 3
"""Cold starts per round."""


async def measure(setting: Setting) -> Part:
    """Run all rounds; a quick run is one small round without LlamaIndex."""
    plain = Side("plain stack", partial(run_peer, setting.peer, "bench.plain"), setting.scratch)
    llama = Side("LlamaIndex", partial(run_peer, setting.peer, "bench.llamaindex"), setting.scratch)
    ours = Side("quinion", run_ours, setting.scratch, deduplicates=True, works_on=True)
    peers = [plain] if setting.quick else [plain, llama]
    work = find_work(setting.corpus, quick=setting.quick)
    rounds, cold_starts = (1, 1) if setting.quick else (ROUNDS, COLD_STARTS)

    async def go_on(number: int) -> Alone:
        print(f"  round {number + 1} of {rounds}", file=sys.stderr, flush=True)
        return await run_round(ours, peers, number, work, cold_starts)

    stages = [await go_on(0)]
    agreement = compare(ours, plain)
    stages += [await go_on(number) for number in range(1, rounds)]
    run = Run(work, ours, peers, stages, agreement)
    return Part("text", "Text PDFs", write_body(run), claims_of(run))


def compare(ours: Side, plain: Side) -> Agreement:
    """Check that both stored the same chunks in the first round; else ratios are meaningless."""
    folders = find_our_chroma(ours.store(0)), plain.store(0)
    agreement = Agreement(**run_module("bench.text.agreement", *map(str, folders)))
    if not agreement.holds:
        raise SystemExit(f"Ours and the plain stack did not store the same: {agreement}")
    return agreement
