"""`python sandbox.py UNIT COMMAND …`: a command with the system calls and memory rules of a unit.

Only systemd itself applies a unit; this does the part of it that a program notices most.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import errno
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

_PR_SET_NO_NEW_PRIVS, _PR_SET_MDWE = 38, 65
_ALLOW, _REFUSE = 0x7FFF0000, 0x00050000 | errno.EPERM


def allowed_calls(unit: Path) -> set[str]:
    """Reads the lines `SystemCallFilter=`; one with a tilde takes away."""
    allowed: set[str] = set()
    for line in re.findall(r"^SystemCallFilter=(.*)$", unit.read_text(), re.MULTILINE):
        calls = {call for name in line.lstrip("~").split() for call in _members(name)}
        allowed = allowed - calls if line.startswith("~") else allowed | calls
    return allowed


def _members(name: str) -> Iterator[str]:
    if not name.startswith("@"):
        yield name
        return
    command = ["systemd-analyze", "syscall-filter", "--no-pager", name]
    listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    for member in re.findall(r"^    (@?[a-z0-9_-]+)$", listed, re.MULTILINE):
        yield from _members(member)


def restrict(calls: set[str]) -> None:
    seccomp = ctypes.CDLL(ctypes.util.find_library("seccomp"), use_errno=True)
    seccomp.seccomp_init.restype = ctypes.c_void_p
    context = ctypes.c_void_p(seccomp.seccomp_init(ctypes.c_uint32(_REFUSE)))
    for name in calls:
        number = seccomp.seccomp_syscall_resolve_name(name.encode())
        if number >= 0:
            seccomp.seccomp_rule_add(context, ctypes.c_uint32(_ALLOW), number, 0)
    libc = ctypes.CDLL(None, use_errno=True)
    assert libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
    # MemoryDenyWriteExecute= on kernels since 6.3.
    libc.prctl(_PR_SET_MDWE, 1, 0, 0, 0)
    assert seccomp.seccomp_load(context) == 0


if __name__ == "__main__":
    restrict(allowed_calls(Path(sys.argv[1])))
    os.execv(sys.argv[2], sys.argv[2:])
