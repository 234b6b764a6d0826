"""Who is given the processor first, where there is not enough of it: searches and readings."""

import os
import sys

NICENESS = 5
"""A third of the time that others have while they want it, and all of it otherwise."""


def give_way() -> None:
    """This thread, and what it starts from now on, is work that can wait."""
    if sys.platform == "linux":  # elsewhere it would be the whole process
        # Who was started to give way more than that may not take it back.
        os.setpriority(os.PRIO_PROCESS, 0, max(NICENESS, os.getpriority(os.PRIO_PROCESS, 0)))
