"""Multipart forms: any chopping gives the same form, any bytes a form or a refusal."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import io
import os
import tracemalloc
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.tiers import rounds

from masthead.base.errors import BadRequest, BodyBroken, TooLarge
from masthead.web.asgi import Message, Receive, Scope
from masthead.web.multipart import (
    IN_MEMORY_BYTES,
    MAX_FIELD_BYTES,
    MAX_PARTS,
    Form,
    Upload,
    form_to_object,
    read_form,
)

BOUNDARY = "----form-7MA4YWxk"
LIMIT = 10 * 1024 * 1024


def scope(content_type: str = f"multipart/form-data; boundary={BOUNDARY}") -> Scope:
    return {"type": "http", "headers": [(b"content-type", content_type.encode())]}


def sending(chunks: Iterable[bytes], *, hangs_up: bool = False) -> Receive:
    source = iter(chunks)

    async def receive() -> Message:
        chunk = next(source, None)
        if chunk is not None:
            return {"type": "http.request", "body": chunk, "more_body": True}
        return {"type": "http.disconnect"} if hangs_up else {"type": "http.request", "body": b""}

    return receive


def part(name: str, content: bytes, filename: str | None = None, *headers: str) -> bytes:
    disposition = f'Content-Disposition: form-data; name="{name}"'
    if filename is not None:
        disposition += f'; filename="{filename}"'
    lines = "\r\n".join([f"--{BOUNDARY}", disposition, *headers])
    return lines.encode() + b"\r\n\r\n" + content + b"\r\n"


END = f"--{BOUNDARY}--\r\n".encode()


async def content_of(upload: Upload) -> bytes:
    return b"".join([chunk async for chunk in upload.chunks()])


async def read(body: bytes, *, step: int | None = None, limit: int = LIMIT) -> dict[str, Any]:
    pieces = [body] if step is None else [body[i : i + step] for i in range(0, len(body), step)]
    async with read_form(scope(), sending(pieces), limit=limit) as form:
        return await described(form)


async def described(form: Form) -> dict[str, Any]:
    return {
        "fields": form.fields,
        "files": [
            (u.field, u.filename, u.content_type, u.size, u.sha256, u.head, await content_of(u))
            for u in form.files
        ],
    }


def open_files() -> int:
    """Open temporary files of this process; they have no name, as the link shows."""
    count = 0
    for descriptor in Path("/proc/self/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):
            count += os.readlink(descriptor).endswith("(deleted)")
    return count


async def test_fields_and_files_are_returned_in_order() -> None:
    body = part("title", "Grüße\r\n".encode()) + part("tag", b"a") + part("tag", b"")
    body += part("doc", b"hello", "Hello World.txt", "Content-Type: text/plain") + END
    assert await read(body) == {
        "fields": [("title", "Grüße\r\n"), ("tag", "a"), ("tag", "")],
        "files": [
            (
                "doc",
                "Hello World.txt",
                "text/plain",
                5,
                hashlib.sha256(b"hello").hexdigest(),
                b"hello",
                b"hello",
            )
        ],
    }


async def test_every_chopping_gives_the_same_form() -> None:
    tricky = f"x\r\n--{BOUNDARY[:-1]}\r\n--{BOUNDARY}x\r\n-\r".encode()
    body = part("a", tricky) + part("doc", tricky, "ü.bin", "Content-Type: x/y") + END + b"epilogue"
    whole = await read(body)
    assert whole["fields"] == [("a", tricky.decode())]
    assert whole["files"][0][6] == tricky
    for step in range(1, len(body)):
        assert await read(body, step=step) == whole
    for cut in range(1, len(body)):
        async with read_form(scope(), sending([body[:cut], body[cut:]]), limit=LIMIT) as form:
            assert await described(form) == whole


@pytest.mark.parametrize(
    "size", [0, 1, IN_MEMORY_BYTES - 1, IN_MEMORY_BYTES, IN_MEMORY_BYTES + 1, 700_000]
)
@pytest.mark.parametrize("step", [1000, 65536, 10**9])
async def test_a_file_of_any_size_is_whole(size: int, step: int) -> None:
    content = os.urandom(size)
    body = part("doc", content, "a.bin") + part("after", b"x") + END
    form = await read(body, step=step)
    digest = hashlib.sha256(content).hexdigest()
    assert form["files"] == [("doc", "a.bin", "", size, digest, content[:4096], content)]
    assert form["fields"] == [("after", "x")]


async def test_an_empty_file_input_is_a_field_without_value() -> None:
    body = part("doc", b"", "", "Content-Type: application/octet-stream") + END
    assert await read(body) == {"fields": [("doc", "")], "files": []}


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"nothing of the kind",
        part("a", b"1"),
        part("a", b"1")[:-10],
        part("a", b"1") + END[:-4],
        END.replace(b"-", b"+"),
        b"--" + BOUNDARY.encode() + b"\r\n\r\nno headers\r\n" + END,
        b"--" + BOUNDARY.encode() + b"\r\nContent-Type: text/plain\r\n\r\nno name\r\n" + END,
        b"--" + BOUNDARY.encode() + b"\r\nbad header\r\n\r\nx\r\n" + END,
        part("", b"1") + END,
        part("a", b"\xff") + END,
        part("a", b"x\0") + END,
        part("a", b"aGk=", "x", "Content-Transfer-Encoding: base64") + END,
        part("a", b"1", None, "X-Long: " + "x" * 5000) + END,
        part("a", b"1", None, *[f"X-{i}: 1" for i in range(20)]) + END,
        part("a", b"1") * (MAX_PARTS + 1) + END,
    ],
)
async def test_an_incomplete_form_is_a_bad_request(body: bytes) -> None:
    with pytest.raises(BadRequest):
        await read(body)


@pytest.mark.parametrize(
    "content_type",
    [
        "",
        "application/json",
        "multipart/form-data",
        "multipart/form-data; boundary=",
        "multipart",
        f"multipart/form-data; boundary={'x' * 1000}",
        f"multipart/mixed; boundary={BOUNDARY}",
    ],
)
async def test_a_request_without_a_usable_boundary_is_a_bad_request(content_type: str) -> None:
    body = part("a", b"1") + END
    with pytest.raises(BadRequest):
        async with read_form(scope(content_type), sending([body]), limit=LIMIT):
            pass


async def test_as_many_parts_as_allowed_are_read() -> None:
    assert len((await read(part("a", b"1") * MAX_PARTS + END))["fields"]) == MAX_PARTS


async def test_fields_together_are_limited() -> None:
    half = b"x" * (MAX_FIELD_BYTES // 2)
    with pytest.raises(TooLarge):
        await read(part("a", half) + part("b", half) + END)


async def test_a_body_over_the_limit_is_refused_before_its_end() -> None:
    taken = 0

    def endless() -> Iterable[bytes]:
        nonlocal taken
        yield part("doc", b"", "a.bin")[:-2]
        while True:
            taken += 1
            yield b"x" * 1000

    before = open_files()
    with pytest.raises(TooLarge):
        async with read_form(scope(), sending(endless()), limit=100_000):
            pass
    assert taken <= 100
    assert open_files() == before


async def test_a_client_that_hangs_up_leaves_no_file() -> None:
    before = open_files()
    start = part("doc", b"x" * 500_000, "a.bin")
    with pytest.raises(BodyBroken):
        async with read_form(scope(), sending([start], hangs_up=True), limit=LIMIT):
            pass
    assert open_files() == before


async def test_a_cancelled_request_leaves_no_file() -> None:
    before = open_files()
    is_waiting = asyncio.Event()
    chunks = iter([part("doc", b"x" * 500_000, "a.bin")[:-2]])

    async def receive() -> Message:
        if chunk := next(chunks, None):
            return {"type": "http.request", "body": chunk, "more_body": True}
        is_waiting.set()
        await asyncio.Event().wait()
        raise AssertionError("never set")

    async def handle() -> None:
        async with read_form(scope(), receive, limit=LIMIT):
            pass

    task = asyncio.create_task(handle())
    await is_waiting.wait()
    assert open_files() == before + 1
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert open_files() == before


async def test_cancelling_during_a_write_waits_for_the_thread_and_leaves_no_file() -> None:
    before = open_files()
    body = part("doc", b"x" * 5_000_000, "a.bin") + END
    for turns in range(12):
        task = asyncio.create_task(read(body, step=300_000))
        for _ in range(turns):
            await asyncio.sleep(0)
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
        assert open_files() == before


async def test_files_are_closed_after_use() -> None:
    before = open_files()
    async with read_form(
        scope(),
        sending([part("d", b"x" * (IN_MEMORY_BYTES + 1), "a") + part("e", b"", "b") + END]),
        limit=LIMIT,
    ) as form:
        files = form.files
        assert open_files() == before + 1
    assert all(upload.file.closed for upload in files)
    assert open_files() == before


async def test_many_small_files_take_no_more_memory_than_one() -> None:
    before = open_files()
    half = part("d", b"x" * (IN_MEMORY_BYTES // 2), "a")
    async with read_form(scope(), sending([half * 4 + END]), limit=LIMIT) as form:
        in_memory = [each for each in form.files if isinstance(each.file, io.BytesIO)]
        assert (len(form.files), len(in_memory)) == (4, 2)
        assert open_files() == before + 2


async def test_memory_does_not_grow_with_the_upload() -> None:
    size = 200 * 1024 * 1024
    block = os.urandom(64 * 1024)

    def upload() -> Iterable[bytes]:
        yield part("doc", b"", "big.bin")[:-2]
        for _ in range(size // len(block)):
            yield block
        yield b"\r\n" + END

    tracemalloc.start()
    try:
        async with read_form(scope(), sending(upload()), limit=2 * size) as form:
            [file] = form.files
            read_back = 0
            async for chunk in file.chunks():
                read_back += len(chunk)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert file.size == read_back == size
    assert peak < 10 * 1024 * 1024


alphabet = st.sampled_from(
    [
        b"\r\n",
        b"--",
        BOUNDARY.encode(),
        b"\r",
        b"-",
        b":",
        b"x",
        b'"',
        b";",
        b"\0",
        b"\xff",
        b"Content-Disposition: form-data",
        b'name="a"',
        b'filename="f"',
        b"\r\n\r\n",
        END,
        part("a", b"1"),
        part("b", b"2", "f"),
    ]
)
bodies = st.binary(max_size=300) | st.lists(alphabet, max_size=25).map(b"".join)


@settings(max_examples=rounds(120, 900), deadline=None)
@given(bodies, st.integers(1, 40))
def test_random_bytes_are_a_form_or_a_refusal(body: bytes, step: int) -> None:
    with contextlib.suppress(BadRequest, TooLarge):
        asyncio.run(read(body, step=step, limit=2000))


@settings(max_examples=rounds(40, 300), deadline=None)
@given(st.binary(max_size=120))
def test_a_random_content_type_is_a_form_or_a_refusal(value: bytes) -> None:
    async def attempt() -> None:
        header = b"multipart/form-data; " + value
        request: Scope = {"type": "http", "headers": [(b"content-type", header)]}
        async with read_form(request, sending([part("a", b"1") + END]), limit=LIMIT):
            pass

    with contextlib.suppress(BadRequest):
        asyncio.run(attempt())


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ([], {}),
        ([("a", "x")], {"a": "x"}),
        ([("a", "x"), ("b", ""), ("a", "y")], {"a": ["x", "y"], "b": ""}),
        ([("n", "2"), ("f", "true"), ("g", "false")], {"n": 2, "f": True, "g": False}),
        ([("n", "-2.5"), ("m", "0")], {"n": -2.5, "m": 0}),
        ([("n", "007"), ("m", "1.50"), ("o", "-0")], {"n": "007", "m": "1.50", "o": "-0"}),
        ([("n", "1.2.3"), ("m", "-"), ("o", ".5")], {"n": "1.2.3", "m": "-", "o": ".5"}),
        ([("n", "1e5"), ("m", "-inf"), ("o", "٣")], {"n": "1e5", "m": "-inf", "o": "٣"}),
        ([("n", "12345678901234567890")], {"n": "12345678901234567890"}),
        ([("doc+", "1"), ("doc+", "2")], {"doc+": [1, 2]}),
        ([("@jsonPayload", '{"a": {"b": [1]}}')], {"a": {"b": [1]}}),
        (
            [("a", "x"), ("@jsonPayload", '{"a": 1, "b": 2}'), ("@jsonPayload", '{"b": 3}')],
            {"a": "x", "b": 3},
        ),
    ],
)
def test_a_form_becomes_a_record(fields: list[tuple[str, str]], expected: dict[str, Any]) -> None:
    result = form_to_object(Form(fields=fields))
    assert result == expected
    assert {k: type(v) for k, v in result.items()} == {k: type(v) for k, v in expected.items()}


@pytest.mark.parametrize("payload", ["", "[]", "{", '{"a": "\\u0000"}'])
def test_a_payload_that_is_no_object_is_a_bad_request(payload: str) -> None:
    with pytest.raises(BadRequest):
        form_to_object(Form(fields=[("@jsonPayload", payload)]))
