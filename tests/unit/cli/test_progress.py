import io
import logging
import sys

import anyio
import pytest

from quinion.cli.progress import Bars
from quinion.telemetry.logs import CurrentStderr


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def use_terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """Replace stderr by a terminal that remembers all that was written."""
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    return terminal


def test_a_bar_of_finished_work_ends_at_100_percent(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = use_terminal(monkeypatch)
    with Bars() as bars:
        with bars.follow("report.pdf") as show:
            anyio.run(show, 7, 10, "indexed up to page 7 of 10")
        task = bars.tasks[0]
        assert task.percentage == 100
        assert task.description == "report.pdf"
    drawn = [line for line in terminal.getvalue().splitlines() if "report.pdf" in line]
    assert "100%" in drawn[-1]


def test_a_bar_of_failed_work_stays_where_it_was() -> None:
    with Bars() as bars:
        with pytest.raises(ValueError, match="damaged"), bars.follow("report.pdf") as show:
            anyio.run(show, 7, 10, None)
            raise ValueError("damaged")
        assert bars.tasks[0].percentage == 70


def test_the_bar_of_one_of_many_files_is_removed() -> None:
    with Bars() as bars:
        with bars.follow("one.pdf", keep=False):
            assert len(bars.tasks) == 1
        assert bars.tasks == []


def test_log_lines_are_printed_above_the_bars(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = use_terminal(monkeypatch)
    logger = logging.getLogger("test_progress")
    logger.propagate = False  # commands that ran before have set a handler for all
    handler = CurrentStderr()
    logger.addHandler(handler)
    try:
        with Bars() as bars, bars.follow("report.pdf"):
            bars.refresh()
            logger.warning("page 3: OCR confidence is only 41")
    finally:
        logger.removeHandler(handler)
    [line] = [one for one in terminal.getvalue().splitlines() if "confidence" in one]
    erase = "\x1b[2K"
    assert line.split(erase)[-1] == "page 3: OCR confidence is only 41"
    assert erase in line
