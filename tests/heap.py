"""Fragmented heap, as after processing documents: free blocks between used ones."""

import ctypes

_LIBC = ctypes.CDLL(None)
_LIBC.malloc.restype = ctypes.c_void_p
_LIBC.malloc.argtypes = [ctypes.c_size_t]
_LIBC.free.argtypes = [ctypes.c_void_p]

BLOCK, HOLES = 1 << 16, 1_000


def leave_holes() -> int:
    """Allocate 64 MB in adjacent blocks, free all but the last, return the freed bytes."""
    blocks = [_LIBC.malloc(BLOCK) for _ in range(HOLES + 1)]
    for block in blocks:
        ctypes.memset(block, 1, BLOCK)
    for block in blocks[:-1]:
        _LIBC.free(block)
    return BLOCK * HOLES
