"""The trial by which an engine is chosen for a home: the fastest wins.

    python -m quinion.embed.trial MODEL THREADS

An engine has to agree with ONNX Runtime, which is always there, as well as it does where it was
shown that judged queries find the same with it (`bench/judged.py`), and to be faster by enough to
be worth its memory. All are tried out in a process of its own, so that what they take is given
back, and one that this machine can't run takes nothing with it.
"""

import logging
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

from quinion.embed.numerics import Network, Numerics, is_there, open_network
from quinion.embed.weights import PreparedModel, prepare
from quinion.errors import ModelUnavailable

log = logging.getLogger(__name__)

LEAST_AGREEMENT = {Numerics.CTRANSLATE2: 0.99, Numerics.OPENVINO: 0.9995}
"""The cosine of the same text's two vectors, of the engines that may be chosen."""
LEAST_GAIN = 1.3
TRIALS = 5
LENGTH = 128
TEXTS = 4
TIMEOUT_S = 120.0


def try_out(cache_dir: Path, model_dir: Path | None, threads: int) -> Numerics:
    """What is fastest; where that can't be found out, what is always there.

    Raises:
        ModelUnavailable: there is no model, it is not the right one, or it is damaged.
    """
    if not any(map(is_there, LEAST_AGREEMENT)):
        return Numerics.ONNX
    model = prepare(cache_dir, model_dir)
    # -P: the current folder is the user's, and nothing in it may be imported.
    command = [sys.executable, "-P", "-m", __name__, str(model.folder), str(threads)]
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
            check=True,
        )
        return Numerics(done.stdout.strip())
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        log.warning("the trial of faster engines failed, so none is used: %s", error)
        return Numerics.ONNX


def choose(model: PreparedModel, threads: int) -> Numerics:
    """What is fastest, of what there is."""
    chosen, best = Numerics.ONNX, LEAST_GAIN
    trial = Trial(open_network(Numerics.ONNX, model, threads))
    for numerics in filter(is_there, LEAST_AGREEMENT):
        try:
            gain = trial.gain(numerics, open_network(numerics, model, threads))
        except ModelUnavailable as error:
            log.warning("%s is not used: %s", numerics, error)
            continue
        if gain >= best:
            chosen, best = numerics, gain
    return chosen


class Trial:
    """A batch that the reference has run, for others to be compared by."""

    def __init__(self, reference: Network) -> None:
        numbers = np.random.default_rng(1)
        self._batch = numbers.integers(1000, 20_000, (TEXTS, LENGTH)).tolist()
        self._vectors = reference.run(self._batch)
        self._time_s = _time(reference, self._batch)

    def gain(self, numerics: Numerics, candidate: Network) -> float:
        """How many times as fast the candidate is; 0 where it does not say the same."""
        agreement = float((self._vectors * candidate.run(self._batch)).sum(1).min())
        gain = self._time_s / _time(candidate, self._batch)
        log.info("trial of %s: agreement %.6f, %.1f times as fast", numerics, agreement, gain)
        return gain if agreement >= LEAST_AGREEMENT[numerics] else 0.0


def _time(network: Network, batch: list[list[int]]) -> float:
    """Of the processor, not of the clock: other processes may be at work, and all cores will be."""
    times = []
    for _ in range(TRIALS):
        begun = time.process_time()
        network.run(batch)
        times.append(time.process_time() - begun)
    return min(times)


if __name__ == "__main__":
    print(choose(PreparedModel(Path(sys.argv[1])), int(sys.argv[2])))
