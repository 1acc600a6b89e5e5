"""Memory that large requests took goes back to the system."""

from __future__ import annotations

import platform
import subprocess
import sys

import pytest

# As requests of several megabytes in several threads leave it, with small blocks between.
PROGRAM = """
import threading
from masthead.service.serve.process import return_large_blocks

def megabytes():
    with open("/proc/self/smaps_rollup") as lines:
        found = dict(line.split()[:2] for line in lines if line.startswith("Anonymous:"))
    return int(found["Anonymous:"]) / 1024

def requests():
    first, kept = bytearray(20_000_000), []
    del first
    for _ in range(5):
        bodies = [bytearray(b"x" * 6_000_000) for _ in range(4)]
        kept.append(bytearray(5_000))
        del bodies
    results.append(kept)

if {is_set}:
    return_large_blocks()
results, before = [], megabytes()
for _ in range(2):
    threads = [threading.Thread(target=requests) for _ in range(4)]
    for each in threads:
        each.start()
    requests()
    for each in threads:
        each.join()
print(megabytes() - before)
"""


def kept_megabytes(is_set: bool) -> float:
    program = PROGRAM.replace("{is_set}", str(is_set))
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    return float(done.stdout)


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="the option is glibc's")
def test_large_blocks_are_the_systems_again_when_they_are_freed() -> None:
    assert kept_megabytes(True) < 5


@pytest.mark.sweep
@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="the option is glibc's")
def test_without_the_option_the_process_would_keep_them() -> None:
    assert kept_megabytes(False) > 20
