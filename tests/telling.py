"""Text that an error exposes to a logger or debugger."""

import traceback
from collections.abc import Iterator


def exposed_text(error: BaseException | None, besides: str) -> Iterator[str]:
    """Return the messages and local variables of an error and its causes.

    Frames of the file `besides` are excluded: the test itself must hold the secret.
    """
    while error:
        yield f"{error} {error!r}"
        frames = traceback.walk_tb(error.__traceback__)
        for frame in traceback.StackSummary.extract(frames, capture_locals=True):
            if frame.filename != besides:
                yield f"{frame.locals}"
        error = error.__cause__ or error.__context__
