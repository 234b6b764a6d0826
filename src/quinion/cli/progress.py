"""Progress bars on stderr, shown on a terminal only.

A bar of finished work ends at 100 % and stays; one of failed work stays where it was. Log lines are
printed above the bars (`telemetry.logs.CurrentStderr`).
"""

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

Show = Callable[[float, float | None, str | None], Awaitable[None]]
"""Progress callback of a tool call."""


class Bars(Progress):
    """Progress bars with a description, a percentage and the elapsed time."""

    def __init__(self) -> None:
        console = Console(stderr=True)
        super().__init__(
            TextColumn("{task.description}"),
            BarColumn(),
            TaskProgressColumn(),
            TimeElapsedColumn(),
            console=console,
            disable=not console.is_terminal,
        )

    @contextmanager
    def follow(
        self, title: str, total: float | None = None, *, keep: bool = True
    ) -> Iterator[Show]:
        """Show a bar during the block, which may pass the callback to a tool call.

        Without `keep`, the bar is removed at the end: one of many files.
        """
        task = self.add_task(escape(title), total=total)

        async def show(done: float, total: float | None, message: str | None) -> None:
            self.update(task, completed=done, total=total, description=escape(message or title))

        try:
            yield show
            # The last report may be missing: pages without text are never indexed.
            total = self.tasks[self.task_ids.index(task)].total or 1
            self.update(task, completed=total, total=total, description=escape(title))
        finally:
            if not keep:
                self.remove_task(task)
