"""The trial by which an engine is chosen for a home: the first that is fast and right enough.

An engine has to agree with ONNX Runtime, which is always there, as well as it does where it was
shown that judged queries find the same with it (`bench/judged.py`), and to be faster by enough to
be worth its memory. Each is tried out in a process of its own, so that what it takes is given
back, and one that this machine can't run takes nothing with it.
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
"""The cosine of the same text's two vectors, of the engines that may be chosen."""
MIN_SPEEDUP = 1.3
TRIALS = 5
LENGTH = 128
TEXTS = 4
TIMEOUT_S = 60.0

_PROGRAM = "from quinion.embed.local.benchmark import main; main()"


@dataclass(frozen=True)
class Measurement:
    """What an engine makes of the trial's texts, and the processor time that it takes."""

    vectors: Vectors
    time_s: float


def choose_runtime(cache_dir: Path, model_dir: Path | None, threads: int) -> Numerics:
    """What is fast and right enough; where that can't be found out, what is always there.

    Raises:
        ModelUnavailable: there is no model, it is not the right one, or it is damaged.
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
            log.warning("%s is not used, because its trial failed: %s", numerics, error)
    return Numerics.ONNX


def speedup(numerics: Numerics, reference: Measurement, candidate: Measurement) -> float:
    """How many times as fast the candidate is; 0 where it does not say the same."""
    agreement = float((reference.vectors * candidate.vectors).sum(1).min())
    times = reference.time_s / candidate.time_s
    log.info("trial of %s: agreement %.6f, %.1f times as fast", numerics, agreement, times)
    return times if agreement >= MIN_COSINE[numerics] else 0.0


def measure_in_process(numerics: Numerics, model: PreparedModel, threads: int) -> Measurement:
    """`measure`, in a process of its own.

    Raises:
        OSError, ValueError, SubprocessError: that process failed, or took too long.
    """
    # -P: the current folder is the user's, and nothing in it may be imported.
    command = [sys.executable, "-P", "-c", _PROGRAM, numerics, str(model.folder), str(threads)]
    done = subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, timeout=TIMEOUT_S, check=True
    )
    vectors, time_s = json.loads(done.stdout)
    return Measurement(np.array(vectors, np.float32), time_s)


def measure(network: Network) -> Measurement:
    """Run the trial's texts: random ones, always the same."""
    batch = np.random.default_rng(1).integers(1000, 20_000, (TEXTS, LENGTH)).tolist()
    vectors = network.run(batch)
    times = []
    for _ in range(TRIALS):
        # Of the processor, not of the clock: others may be at work, and all cores will be.
        begun = time.process_time()
        network.run(batch)
        times.append(time.process_time() - begun)
    return Measurement(vectors, min(times))


def main() -> None:
    """Measure the engine that the command line names, on a model, with so many threads."""
    numerics, folder, threads = sys.argv[1:]
    network = open_network(Numerics(numerics), PreparedModel(Path(folder)), int(threads))
    measured = measure(network)
    print(json.dumps([measured.vectors.tolist(), measured.time_s]))
