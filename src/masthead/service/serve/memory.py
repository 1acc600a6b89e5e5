"""Memory that large requests took goes back to the system."""

from __future__ import annotations

import ctypes

LARGE_BLOCK = 1024 * 1024
KEPT_BYTES = 8 * 1024 * 1024
_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3


def return_large_blocks() -> None:
    """Each block from a megabyte on is the system's again when it is freed.

    By default the C library of Linux learns from the first text of some megabytes to take the next
    ones from its own heap, of which it then keeps up to 64 MB in each of several places. Elsewhere
    there is no such option, and nothing is changed.
    """
    set_option = getattr(ctypes.CDLL(None), "mallopt", None)
    if set_option is not None:
        set_option(_MMAP_THRESHOLD, LARGE_BLOCK)
        set_option(_TRIM_THRESHOLD, KEPT_BYTES)
