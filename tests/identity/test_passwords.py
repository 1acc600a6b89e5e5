"""Passwords are hashed with argon2id in threads, and an unknown account takes as long."""

from __future__ import annotations

import asyncio
import threading
import time

import pytest

from masthead.identity import passwords
from masthead.identity.passwords import check_password, hash_password, needs_rehash, verify_password


async def test_only_the_right_password_matches() -> None:
    password_hash = await hash_password("correct horse")
    assert password_hash.startswith("$argon2id$")
    assert await verify_password(password_hash, "correct horse")
    assert not await verify_password(password_hash, "correct horsf")
    assert not needs_rehash(password_hash)


async def test_the_same_password_never_has_the_same_hash() -> None:
    assert await hash_password("correct horse") != await hash_password("correct horse")


async def test_a_password_longer_than_72_bytes_counts_to_its_end() -> None:
    password_hash = await hash_password("é" * 100 + "a")
    assert not await verify_password(password_hash, "é" * 100 + "b")


async def test_two_spellings_of_the_same_characters_are_one_password() -> None:
    password_hash = await hash_password("Zo\N{LATIN SMALL LETTER E WITH DIAERESIS} passes")
    assert await verify_password(password_hash, "Zoe\N{COMBINING DIAERESIS} passes")


@pytest.mark.parametrize("password_hash", ["", "x", "$2b$12$notargon", "$argon2id$v=19$m=8"])
async def test_an_account_without_a_readable_hash_has_no_password(password_hash: str) -> None:
    assert not await verify_password(password_hash, "")
    assert not await verify_password(password_hash, password_hash)


@pytest.mark.parametrize("password", ["x" * 1025, "\ud800 half a pair"])
async def test_an_invalid_password_does_not_match(password: str) -> None:
    password_hash = await hash_password("correct horse")
    assert not await verify_password(password_hash, password)


def test_an_older_hash_needs_a_new_one() -> None:
    older = (
        "$argon2id$v=19$m=19456,t=2,p=1$c29tZXNhbHRzb21lc2FsdA"
        "$8p4v2uXQz0c0nRdnr6sQe5rbrH4nUpS3sxCc9hnqf1E"
    )
    assert needs_rehash(older)


@pytest.mark.parametrize(
    ("password", "code"),
    [
        ("", "validation_min_text_constraint"),
        ("seven77", "validation_min_text_constraint"),
        ("eight888", None),
        ("x" * 1024, None),
        ("x" * 1025, "validation_max_text_constraint"),
        ("\ud800" * 8, "validation_invalid_format"),
        ("password", "validation_common_password"),
        ("Iloveyou", "validation_common_password"),
        ("ｐａｓｓｗｏｒｄ", "validation_common_password"),
        ("password\niloveyou", None),
        ("password of a boat", None),
    ],
)
def test_the_policy(password: str, code: str | None) -> None:
    problem = check_password(password)
    assert (problem.code if problem else None) == code


@pytest.mark.parametrize(
    ("password", "is_refused"),
    [
        ("Margaret.Hill@example.com", True),
        ("margaret.hill", True),
        ("ＭＡＲＧＡＲＥＴ.hill", True),
        ("example.com", True),
        ("margaret.hill 1879", False),
    ],
)
def test_a_password_is_no_part_of_the_email_address(password: str, is_refused: bool) -> None:
    problem = check_password(password, "margaret.hill@Example.com")
    assert (problem.code if problem else None) == (
        "validation_common_password" if is_refused else None
    )


async def work_of(call: object, *arguments: str) -> float:
    """Seconds of computing, whatever else the machine is doing."""
    timings = []
    for _ in range(5):
        started = time.process_time()
        await call(*arguments)  # type: ignore[operator]
        timings.append(time.process_time() - started)
    return min(timings)


async def test_an_unknown_account_takes_as_long_as_a_wrong_password() -> None:
    password_hash = await hash_password("correct horse")
    known = await work_of(verify_password, password_hash, "wrong horse")
    assert await work_of(verify_password, "", "wrong horse") > known / 2


async def test_hashing_does_not_block_the_event_loop_and_takes_at_most_two_threads() -> None:
    hashing = asyncio.gather(*(hash_password("correct horse") for _ in range(6)))
    turns = 0
    while not hashing.done():
        await asyncio.sleep(0)
        turns += 1
    await hashing
    assert turns > 100
    threads = [each for each in threading.enumerate() if each.name.startswith("password")]
    assert 1 <= len(threads) <= 2


def test_the_dummy_hash_has_the_current_parameters() -> None:
    assert not needs_rehash(passwords._DUMMY)
