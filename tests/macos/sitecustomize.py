"""Simulation of macOS on Linux; Python imports this module at its start.

What only Linux has is taken away, and what macOS refuses is refused. It is not macOS: the C library
and the kernel are those of Linux.
"""

import builtins
import ctypes
import io
import os
import resource
import sys
import sysconfig
import urllib.request  # noqa: F401 - on macOS it needs a module that is not here
from typing import Any

sysconfig.get_config_vars()  # these are in a module that is named after the platform

LINUX_ONLY = (
    *("O_PATH", "O_TMPFILE", "memfd_create", "pidfd_open", "copy_file_range", "posix_fadvise"),
    *("posix_fallocate", "sched_getaffinity", "sched_setaffinity", "pipe2", "eventfd", "splice"),
)
for _name in LINUX_ONLY:
    if hasattr(os, _name):
        delattr(os, _name)

_open, _os_open = io.open, os.open
_set_limit, _find = resource.setrlimit, ctypes.CDLL.__getattr__


def open_file(path: Any, *arguments: Any, **options: Any) -> Any:
    if str(path).startswith("/proc/"):
        raise FileNotFoundError(2, "No such file or directory", str(path))
    return _open(path, *arguments, **options)


def open_descriptor(path: Any, *arguments: Any, **options: Any) -> int:
    if str(path).startswith("/proc/"):
        raise FileNotFoundError(2, "No such file or directory", str(path))
    return _os_open(path, *arguments, **options)


def set_limit(kind: int, limits: tuple[int, int]) -> None:
    if kind == resource.RLIMIT_AS:
        raise ValueError("current limit exceeds maximum limit")
    _set_limit(kind, limits)


def find_function(library: ctypes.CDLL, name: str) -> Any:
    if name == "malloc_trim":
        raise AttributeError(name)
    return _find(library, name)


builtins.open = io.open = open_file  # type: ignore[assignment]
os.open = open_descriptor
resource.setrlimit = set_limit
ctypes.CDLL.__getattr__ = find_function  # type: ignore[method-assign]
sys.platform = "darwin"
