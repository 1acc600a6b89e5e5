"""Password hashes that take a millisecond, for tests that are about something else.

A hash takes 60 ms of a core, and a test of locked accounts needs dozens. `tests/identity` has the
real ones, and so has every process of the service that a test starts.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from unittest.mock import patch

from argon2 import PasswordHasher

from masthead.identity import passwords

_REAL = {"_hasher": passwords._hasher, "_DUMMY": passwords._DUMMY}
_CHEAP = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)


@contextmanager
def cheap_passwords() -> Iterator[None]:
    dummy = _CHEAP.hash("a password that nobody has")
    with patch.multiple(passwords, _hasher=_CHEAP, _DUMMY=dummy):
        yield


@contextmanager
def real_passwords() -> Iterator[None]:
    with patch.multiple(passwords, **_REAL):
        yield
