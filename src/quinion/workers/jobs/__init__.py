"""Jobs of worker processes: one module for each kind of worker, imported only by its workers."""

from collections.abc import Callable, Iterator

from quinion.framing import Frame

Job = Callable[..., Iterator[Frame]]
"""A job: from the arguments of its request to the items of its result."""
