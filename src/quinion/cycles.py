"""Python's search for cycles, and what it need not look through.

It stops everything while it goes on: a tenth of a second for all that a server has imported and
loaded, again and again. Of that nothing is ever given back, so it can be left out.
"""

import gc

_there: set[str] = set()


def leave_alone(name: str) -> None:
    """Something large is there to stay: from now on, do not look through what there is. Once for
    each name, since what is left out and is garbage after all is never found."""
    if name not in _there:
        _there.add(name)
        gc.freeze()
