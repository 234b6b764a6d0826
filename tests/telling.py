"""All that an error could tell to whoever prints it."""

import traceback
from collections.abc import Iterator


def told_by(error: BaseException | None, besides: str) -> Iterator[str]:
    """Its words, what its frames hold, and so for its causes.

    The frames of the file `besides` are left out: a test has the secret, and has to.
    """
    while error:
        yield f"{error} {error!r}"
        frames = traceback.walk_tb(error.__traceback__)
        for frame in traceback.StackSummary.extract(frames, capture_locals=True):
            if frame.filename != besides:
                yield f"{frame.locals}"
        error = error.__cause__ or error.__context__
