import sys

import psutil
import pytest

from quinion.memory import give_back
from tests.heap import leave_holes

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="others give back by themselves")


def test_what_was_freed_is_given_back() -> None:
    before = psutil.Process().memory_info().rss
    size = leave_holes()
    assert psutil.Process().memory_info().rss - before > 0.8 * size
    give_back()
    assert psutil.Process().memory_info().rss - before < 0.2 * size
