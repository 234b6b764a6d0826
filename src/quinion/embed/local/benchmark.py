"""Benchmark that chooses the runtime for a home.

A candidate must agree with ONNX Runtime, which is always installed, as closely as it did when
judged queries returned the same results (`bench/judged.py`). It must also be fast enough to be
worth its memory. Each runtime is measured in a separate process, which frees its memory and
contains a crash on an unsupported machine.
"""

import json
import logging
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from quinion.embed.base import Vectors
from quinion.embed.local.runtimes import Network, Numerics, is_installed, open_network
from quinion.embed.local.weights import PreparedModel, prepare

log = logging.getLogger(__name__)

MIN_COSINE = {Numerics.CTRANSLATE2: 0.99}
"""Lowest accepted cosine with the reference vector, for each candidate."""
MIN_SPEEDUP = 1.3
TRIALS = 5
LENGTH = 128
TEXTS = 4
TIMEOUT_S = 60.0

_PROGRAM = "from quinion.embed.local.benchmark import main; main()"


@dataclass(frozen=True)
class Measurement:
    """A runtime's vectors for the benchmark texts, and its CPU time."""

    vectors: Vectors
    time_s: float


def choose_runtime(cache_dir: Path, model_dir: Path | None, threads: int) -> Numerics:
    """Return the first runtime that is fast and exact enough, else ONNX Runtime.

    Raises:
        ModelUnavailable: the model is missing, damaged or not the right one.
    """
    candidates = filter(is_installed, MIN_COSINE)
    reference: Measurement | None = None
    for numerics in candidates:
        model = prepare(cache_dir, model_dir)
        try:
            reference = reference or measure_in_process(Numerics.ONNX, model, threads)
            if (
                speedup(numerics, reference, measure_in_process(numerics, model, threads))
                >= MIN_SPEEDUP
            ):
                return numerics
        except (OSError, ValueError, subprocess.SubprocessError) as error:
            log.warning("%s is not used, because its benchmark failed: %s", numerics, error)
    return Numerics.ONNX


def speedup(numerics: Numerics, reference: Measurement, candidate: Measurement) -> float:
    """How many times as fast the candidate is; 0 if its vectors differ too much."""
    agreement = float((reference.vectors * candidate.vectors).sum(1).min())
    times = reference.time_s / candidate.time_s
    log.info("benchmark of %s: agreement %.6f, %.1f times as fast", numerics, agreement, times)
    return times if agreement >= MIN_COSINE[numerics] else 0.0


def measure_in_process(numerics: Numerics, model: PreparedModel, threads: int) -> Measurement:
    """Run `measure` in a separate process.

    Raises:
        OSError, ValueError, SubprocessError: the process failed or timed out.
    """
    # -P: the current folder is the user's; nothing in it may be imported.
    command = [sys.executable, "-P", "-c", _PROGRAM, numerics, str(model.folder), str(threads)]
    done = subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, timeout=TIMEOUT_S, check=True
    )
    vectors, time_s = json.loads(done.stdout)
    return Measurement(np.array(vectors, np.float32), time_s)


def measure(network: Network) -> Measurement:
    """Run the benchmark texts: random token ids with a fixed seed."""
    batch = np.random.default_rng(1).integers(1000, 20_000, (TEXTS, LENGTH)).tolist()
    vectors = network.run(batch)
    times = []
    for _ in range(TRIALS):
        # CPU time, not wall time: the machine may be busy.
        start = time.process_time()
        network.run(batch)
        times.append(time.process_time() - start)
    return Measurement(vectors, min(times))


def main() -> None:
    """Measure the runtime, model folder and thread count given on the command line."""
    numerics, folder, threads = sys.argv[1:]
    network = open_network(Numerics(numerics), PreparedModel(Path(folder)), int(threads))
    measured = measure(network)
    print(json.dumps([measured.vectors.tolist(), measured.time_s]))
