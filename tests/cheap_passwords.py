"""Password hashes that take a millisecond, for tests that are about something else.

A hash takes 60 ms of a core, and a test of locked accounts needs dozens. `tests/identity` has the
real ones, and so has every process of the service that a test starts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import pytest
from argon2 import PasswordHasher

from masthead.identity import passwords

_REAL = {"_hasher": passwords._hasher, "_DUMMY": passwords._DUMMY}
_CHEAP = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)


@contextmanager
def cheap_passwords() -> Iterator[None]:
    """The same Argon2 with another cost, not a stand-in for it."""
    with _hashing({"_hasher": _CHEAP, "_DUMMY": _CHEAP.hash("a password that nobody has")}):
        yield


@contextmanager
def real_passwords() -> Iterator[None]:
    with _hashing(_REAL):
        yield


@contextmanager
def _hashing(parts: Mapping[str, object]) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patched:
        for name, value in parts.items():
            patched.setattr(passwords, name, value)
        yield
