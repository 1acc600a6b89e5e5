"""Large bodies are decoded beside the event loop, and in short steps."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from itertools import pairwise
from urllib.parse import parse_qsl, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from masthead.base.errors import BadRequest
from masthead.service.serve.process import SWITCH_SECONDS
from masthead.web import forms
from masthead.web.bodies import MAX_VALUES, _check_structure, decode_json_object, json_object
from masthead.web.forms import CONTENT_TYPE, decode_form, read_form

ROUNDS = 5


@given(st.dictionaries(st.text(max_size=8), st.text(max_size=100)))
def test_forms_are_read_as_the_library_reads_them(values: dict[str, str]) -> None:
    clean = {
        name.replace("\0", ""): text.replace("\0", "").replace("\r\n", "")
        for name, text in values.items()
        if name.replace("\0", "").isprintable()
    }
    clean.pop("", None)
    raw = "&".join(f"{quote_plus(name)}={quote_plus(text)}" for name, text in clean.items())
    assert decode_form(raw.encode()) == dict(parse_qsl(raw, keep_blank_values=True))


@pytest.mark.parametrize("shift", range(8))
def test_no_letter_is_lost_between_two_pieces(shift: int) -> None:
    text = "x" * shift + "ü漢<%+ " * 10_000
    assert decode_form(b"text=" + quote_plus(text).encode())["text"] == text
    assert decode_form(b"text=" + b"x" * shift + b"%" * 40_000)["text"].endswith("%")


def test_a_form_of_many_fields_is_refused() -> None:
    with pytest.raises(BadRequest):
        decode_form(b"&".join(b"a=1" for _ in range(forms.MAX_FIELDS + 1)))


async def test_the_event_loop_decodes_no_large_json() -> None:
    raw = b'{"a":[' + b'{"b":"c"},' * 60_000 + b"1]}"

    async def decode() -> None:
        assert len((await json_object(raw))["a"]) == 60_001

    assert await _own_share(decode, lambda: decode_json_object(raw)) < 0.5


async def test_the_event_loop_decodes_no_large_form() -> None:
    raw = b"text=" + b"%E6%BC%A2" * 200_000
    scope = {"type": "http", "headers": [(b"content-type", CONTENT_TYPE.encode())]}

    async def receive() -> dict[str, object]:
        return {"type": "http.request", "body": raw, "more_body": False}

    async def decode() -> None:
        form = await read_form(scope, receive, limit=len(raw))  # type: ignore[arg-type]
        assert len(form["text"]) == 200_000

    assert await _own_share(decode, lambda: decode_form(raw)) < 0.5


@pytest.mark.parametrize("count", [100_000, 380_000], ids=["accepted", "refused"])
def test_many_values_are_counted_in_short_steps(count: int) -> None:
    """One step of the interpreter, however long, keeps the event loop waiting."""
    raw = b'{"a":[' + b'{"type":"paragraph"},' * count + b"{}]}"

    def look_through() -> None:
        with suppress(BadRequest):
            _check_structure(raw, MAX_VALUES)

    assert min(_longest_step(look_through) for _ in range(ROUNDS)) < 0.4


def _longest_step(work: Callable[[], None]) -> float:
    """The longest time in which another thread got no turn, as a share of the work's."""
    turns: list[float] = []
    is_over = threading.Event()

    def take_turns() -> None:
        while not is_over.is_set():
            turns.append(time.perf_counter())
            # Gives the turn back, without a wait.
            time.sleep(0)

    other = threading.Thread(target=take_turns)
    interval = sys.getswitchinterval()
    sys.setswitchinterval(SWITCH_SECONDS)
    try:
        other.start()
        began = time.perf_counter()
        work()
        ended = time.perf_counter()
    finally:
        is_over.set()
        other.join()
        sys.setswitchinterval(interval)
    within = [began, *(each for each in turns if began < each < ended), ended]
    return max(b - a for a, b in pairwise(within)) / (ended - began)


async def _own_share(work: Callable[[], Awaitable[None]], whole: Callable[[], object]) -> float:
    """The processor's time of this thread, compared with that of all of the work."""
    own, all_of_it = [], []
    for _ in range(ROUNDS):
        began = time.thread_time()
        await work()
        own.append(time.thread_time() - began)
        began = time.thread_time()
        whole()
        all_of_it.append(time.thread_time() - began)
    return min(own) / min(all_of_it)
