"""Password hashing with argon2id, in threads, and the password policy."""

from __future__ import annotations

import asyncio
import unicodedata
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from masthead.base.errors import Problem
from masthead.base.languages.words import words

MIN_LENGTH = 8
MAX_LENGTH = 1024
_COMMON = Path(__file__).parent / "common_passwords.txt"

# 32 MiB and two passes take about 60 ms of one core: above OWASP's minimum (19 MiB, two passes),
# yet a burst of logins needs little memory. No parallelism within a hash: there are threads below.
_hasher = PasswordHasher(time_cost=2, memory_cost=32 * 1024, parallelism=1)

# Two at a time, so that logins take at most two cores and 64 MiB; others wait. A separate executor,
# so that they don't delay other work in threads.
_threads = ThreadPoolExecutor(max_workers=2, thread_name_prefix="password")

# The hash of a random password, with the parameters above.
_DUMMY = (
    "$argon2id$v=19$m=32768,t=2,p=1$O9iHIQ2FJZkyHVX3RBH41g$"
    "c8lCN7Pisv3RaUUQS4y1jwkrlPlE61z8W7yGZj04tC0"
)

_Result = TypeVar("_Result")


def check_password(password: str, email: str = "") -> Problem | None:
    """The problem of a new password, or None. Any characters will do, as NIST recommends, but not a
    password that everyone tries first, nor the account's email address or a part of it."""
    if len(password) < MIN_LENGTH:
        return Problem(
            "validation_min_text_constraint",
            words("Must be at least %(min)s character(s).", min=MIN_LENGTH),
            {"min": MIN_LENGTH},
        )
    if len(password) > MAX_LENGTH:
        return Problem(
            "validation_max_text_constraint",
            words("Must be no more than %(max)s character(s).", max=MAX_LENGTH),
            {"max": MAX_LENGTH},
        )
    if not _is_text(password):
        return Problem("validation_invalid_format", words("Must be valid text."))
    if _is_common(password) or _is_of_email(password, email):
        return Problem(
            "validation_common_password",
            words("This password is easy to guess. Choose another one."),
        )
    return None


def _is_common(password: str) -> bool:
    """Reads the list each time: a new password is rare, and hashing it takes far longer."""
    spelt = _normal(password).casefold()
    return "\n" not in spelt and f"\n{spelt}\n" in f"\n{_COMMON.read_text()}"


def _is_of_email(password: str, email: str) -> bool:
    address = _normal(email).casefold()
    local_part, _, host = address.rpartition("@")
    return _normal(password).casefold() in (address, local_part, host)


async def hash_password(password: str) -> str:
    """The password must have passed `check_password`."""
    return await _in_thread(lambda: _hasher.hash(_normal(password)))


async def verify_password(password_hash: str, password: str) -> bool:
    """An account without a hash, or a missing one (`''`), is False and takes the same time."""
    if len(password) > MAX_LENGTH or not _is_text(password):
        return False
    return await _in_thread(lambda: _matches(password_hash, _normal(password)))


def needs_rehash(password_hash: str) -> bool:
    """The hash has older parameters: it is replaced at the next successful login."""
    return _hasher.check_needs_rehash(password_hash)


def _matches(password_hash: str, password: str) -> bool:
    try:
        return _hasher.verify(password_hash, password)
    except InvalidHashError:
        _matches(_DUMMY, password)
        return False
    except VerificationError:
        return False


def _normal(password: str) -> str:
    # Systems encode the same input differently.
    return unicodedata.normalize("NFKC", password)


def _is_text(password: str) -> bool:
    # JSON can contain half of a surrogate pair, which has no UTF-8 form.
    return not any("\ud800" <= character <= "\udfff" for character in password)


async def _in_thread(work: Callable[[], _Result]) -> _Result:
    return await asyncio.get_running_loop().run_in_executor(_threads, work)
