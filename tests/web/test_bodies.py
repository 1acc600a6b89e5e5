"""Reading bodies under a limit, and JSON that is refused with a sentence instead of a crash."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.loop_time import LoopTime

from masthead.base.errors import BadRequest, BodyBroken, BodyStalled, TooLarge
from masthead.web.arriving import LEAST_RATE, STALLED_SECONDS
from masthead.web.asgi import Message, Scope
from masthead.web.bodies import MAX_DEPTH, decode_json_object, read_body


class Client:
    """Sends the given chunks and counts how many the service took."""

    def __init__(self, chunks: Iterable[bytes], *, hangs_up: bool = False) -> None:
        self.messages: list[Message] = [
            {"type": "http.request", "body": chunk, "more_body": True} for chunk in chunks
        ]
        self.messages.append(
            {"type": "http.disconnect"} if hangs_up else {"type": "http.request", "body": b""}
        )
        self.taken = 0

    async def __call__(self) -> Message:
        self.taken += 1
        return self.messages[self.taken - 1]


def scope(**headers: str) -> Scope:
    return {
        "type": "http",
        "headers": [(k.replace("_", "-").encode(), v.encode()) for k, v in headers.items()],
    }


async def test_a_body_in_chunks_is_joined() -> None:
    assert await read_body(scope(), Client([b"ab", b"", b"cd"]), limit=4) == b"abcd"


async def test_no_body_is_empty() -> None:
    assert await read_body(scope(), Client([]), limit=4) == b""


async def test_a_declared_length_over_the_limit_is_refused_unread() -> None:
    client = Client([b"abcde"])
    with pytest.raises(TooLarge):
        await read_body(scope(content_length="5"), client, limit=4)
    assert client.taken == 0


@pytest.mark.parametrize("length", ["9" * 5000, "1" + "0" * 25])
async def test_an_absurd_declared_length_is_refused(length: str) -> None:
    with pytest.raises(TooLarge):
        await read_body(scope(content_length=length), Client([]), limit=10**9)


@pytest.mark.parametrize("length", ["", "-1", "x", "²"])
async def test_a_declared_length_that_is_no_number_leaves_the_count(length: str) -> None:
    client = Client([b"abc", b"de", b"never read"])
    with pytest.raises(TooLarge):
        await read_body(scope(content_length=length), client, limit=4)
    assert client.taken == 2


async def test_a_body_shorter_than_its_declared_length_is_not_taken_for_a_whole() -> None:
    for chunks in ([b"{}"], [b"{", b"}"], []):
        with pytest.raises(BadRequest, match="of 3 bytes"):
            await read_body(scope(content_length="3"), Client(chunks), limit=4)
    assert await read_body(scope(content_length="2"), Client([b"{", b"}"]), limit=4) == b"{}"


async def test_a_body_that_breaks_off_is_not_a_short_one() -> None:
    with pytest.raises(BodyBroken):
        await read_body(scope(), Client([b"ab"], hangs_up=True), limit=4)


@pytest.mark.parametrize(
    ("raw", "value"),
    [
        (b"{}", {}),
        (b' {"a": [1, -2.5, null, true, "x"]} ', {"a": [1, -2.5, None, True, "x"]}),
        (b'{"a": 1, "a": 2}', {"a": 2}),
        (rb'{"a": "C:\\u0000"}', {"a": r"C:\u0000"}),
        (rb'{"a": "\ud83d\ude00"}', {"a": "\N{GRINNING FACE}"}),
        (b'{"a": 9223372036854775807}', {"a": 2**63 - 1}),
        (b'{"a": "12345678901234567890123"}', {"a": "12345678901234567890123"}),
        (b'{"a": 0.1234567890123456789012}', {"a": 0.1234567890123456789012}),
    ],
)
def test_an_object_is_decoded(raw: bytes, value: dict[str, Any]) -> None:
    assert decode_json_object(raw) == value


@pytest.mark.parametrize(
    ("raw", "says"),
    [
        (b"", "is empty"),
        (b"{", "not valid JSON"),
        (b'{"a": NaN}', "not valid JSON"),
        (b'{"a": -Infinity}', "not valid JSON"),
        (b'{"a": 1e999}', "out of range"),
        (b'{"a": 1} x', "not valid JSON"),
        (b"[]", "must be a JSON object"),
        (b'"text"', "must be a JSON object"),
        (b"null", "must be a JSON object"),
        (b'{"a": "\xff"}', "not valid UTF-8"),
        (b'{"a": "\xed\xa0\x80"}', "not valid UTF-8"),
        (rb'{"a": "\ud800"}', "not valid JSON"),
        (rb'{"a": "\udc00x"}', "not valid JSON"),
        (rb'{"\ud800": 1}', "not valid JSON"),
        (rb'{"a": ["x\u0000"]}', "NUL"),
        (rb'{"a\u0000": 1}', "NUL"),
        (b'{"a": "\0"}', "not valid JSON"),
        (b'{"a": 9223372036854775808}', "64 bits"),
        (b'{"a": [-9223372036854775809]}', "64 bits"),
        (b'{"a": ' + b"9" * 5000 + b"}", "out of range"),
        (b'{"a": ' + b"[" * 10_000 + b"]" * 10_000 + b"}", "nested deeper"),
        (b'{"a": ' * 10_000, "nested deeper"),
        (b'{"a":' * 500 + b"1" + b"}" * 500, "nested deeper"),
    ],
)
def test_an_invalid_object_is_refused_with_a_reason(raw: bytes, says: str) -> None:
    with pytest.raises(BadRequest, match=says):
        decode_json_object(raw)


def test_nesting_is_allowed_up_to_the_limit() -> None:
    def nested(depth: int) -> bytes:
        return b'{"a":' * (depth - 1) + b"{}" + b"}" * (depth - 1)

    assert decode_json_object(nested(MAX_DEPTH))
    with pytest.raises(BadRequest):
        decode_json_object(nested(MAX_DEPTH + 1))


def many(inner: str, count: int = 30_000) -> bytes:
    """Enough of them that they are counted before they are read."""
    return f'{{"a": [{", ".join([inner] * count)}]}}'.encode()


def test_many_values_are_refused_before_they_are_read() -> None:
    with pytest.raises(BadRequest, match="more than 250,000 values"):
        # It is not even JSON: nothing has read that far.
        decode_json_object(b'{"a": [' + b"[]," * 250_000)
    assert len(decode_json_object(many("[1]"))["a"]) == 30_000


def test_marks_within_texts_are_no_values() -> None:
    text = '[{,"\\' * 200_000
    assert decode_json_object(json.dumps({"text": text}).encode()) == {"text": text}
    with pytest.raises(BadRequest, match="not valid JSON"):
        decode_json_object(b'{"text": "' + b"[" * 30_000)


@pytest.mark.parametrize("depth", [MAX_DEPTH - 2, MAX_DEPTH - 1])
def test_nesting_is_the_same_among_many_values(depth: int) -> None:
    raw = many("[" * depth + "]" * depth, 300)
    if depth + 2 <= MAX_DEPTH:
        assert len(decode_json_object(raw)["a"]) == 300
    else:
        with pytest.raises(BadRequest, match="nested deeper"):
            decode_json_object(raw)


def test_nesting_counts_objects_and_lists() -> None:
    inner = b"[" * (MAX_DEPTH - 1) + b'1, "x"' + b"]" * (MAX_DEPTH - 1)
    assert decode_json_object(b'{"a": ' + inner + b', "b": [[]]}')


@given(st.binary(max_size=200) | st.text(max_size=100).map(lambda t: t.encode("utf-8", "replace")))
def test_random_bytes_are_an_object_or_a_bad_request(raw: bytes) -> None:
    with contextlib.suppress(BadRequest):
        assert isinstance(decode_json_object(raw), dict)


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.just("k"), inner),
    max_leaves=20,
)


@given(st.dictionaries(st.sampled_from("abc"), json_values), st.booleans())
def test_every_storable_object_survives(value: dict[str, Any], ascii_only: bool) -> None:
    assert decode_json_object(json.dumps(value, ensure_ascii=ascii_only).encode()) == value


async def test_a_body_that_stops_arriving_is_refused_and_not_waited_for(
    loop_time: LoopTime,
) -> None:
    class Stalled(Client):
        async def __call__(self) -> Message:
            if self.taken:
                await asyncio.Future()
            return await super().__call__()

    reading = asyncio.create_task(read_body(scope(), Stalled([b"half"]), limit=100))
    await loop_time.advance(STALLED_SECONDS + 1)
    with pytest.raises(BodyStalled):
        await reading


class Slow(Client):
    """Sends a chunk, then waits."""

    def __init__(self, chunks: Iterable[bytes], loop_time: LoopTime, seconds: float) -> None:
        super().__init__(chunks)
        self.loop_time = loop_time
        self.seconds = seconds

    async def __call__(self) -> Message:
        if self.taken:
            await self.loop_time.advance(self.seconds)
        return await super().__call__()


async def test_a_body_that_comes_byte_by_byte_is_refused_in_the_time_of_a_stalled_one(
    loop_time: LoopTime,
) -> None:
    client = Slow([b"x"] * 100, loop_time, 20)
    with pytest.raises(BodyStalled):
        await read_body(scope(), client, limit=100)
    assert client.taken <= STALLED_SECONDS / 20 + 1


async def test_a_body_that_comes_at_the_least_rate_may_take_its_time(loop_time: LoopTime) -> None:
    chunk = b"x" * (LEAST_RATE * 50)
    slow = Slow([chunk] * 10, loop_time, 50)
    assert await read_body(scope(), slow, limit=LEAST_RATE * 500) == chunk * 10


async def test_a_request_that_is_cancelled_while_its_body_arrives_stays_cancelled() -> None:
    class Stalled(Client):
        async def __call__(self) -> Message:
            return await asyncio.Future()

    reading = asyncio.create_task(read_body(scope(), Stalled([]), limit=100))
    await asyncio.sleep(0)
    reading.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reading
