"""Parses multipart forms as a stream: memory use does not depend on the size of the upload.

Small files stay in memory. Larger ones go to anonymous temporary files that vanish with their
handle, so a cancelled request or a killed process leaves no files.
"""

from __future__ import annotations

import asyncio
import hashlib
import io
import re
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, Any, BinaryIO, ParamSpec, TypeVar, cast

import msgspec
from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header

from masthead.base.errors import BadRequest, TooLarge
from masthead.storage.cancelling import complete
from masthead.web.asgi import Receive, Scope
from masthead.web.bodies import body_chunks, decode_json_object

if TYPE_CHECKING:
    from python_multipart.multipart import MultipartCallbacks

MAX_PARTS = 200
MAX_FIELD_BYTES = 1024 * 1024
"""Names and values of all form fields together; files don't count."""
MAX_CONTENT_TYPE_BYTES = 512
"""A boundary has up to 70 characters. The parser is slow: 64 KB of semicolons take 300 ms."""
MAX_PART_HEADERS = 8
MAX_HEADER_BYTES = 4096
IN_MEMORY_BYTES = 256 * 1024
"""The bytes of all files of a form that stay in memory; more are written to disk in threads."""
HEAD_BYTES = 4096
JSON_PAYLOAD = "@jsonPayload"

_WRITE_BYTES = 256 * 1024
_PLAIN_ENCODINGS = (b"", b"7bit", b"8bit", b"binary")

P = ParamSpec("P")
T = TypeVar("T")


class Upload:
    """One file of a form. `content_type` is declared by the client and can't be trusted."""

    def __init__(
        self,
        field_name: str,
        filename: str,
        content_type: str,
        in_memory_bytes: int = IN_MEMORY_BYTES,
    ) -> None:
        self.field = field_name
        self.filename = filename
        self.content_type = content_type
        self.size = 0
        self.head = b""
        self.file: BinaryIO = io.BytesIO()
        self._hash = hashlib.sha256()
        self._unwritten = bytearray()
        self._in_memory_bytes = in_memory_bytes

    @property
    def sha256(self) -> str:
        return self._hash.hexdigest()

    async def chunks(self, chunk_bytes: int = _WRITE_BYTES) -> AsyncIterator[bytes]:
        """The content in chunks of at most `chunk_bytes`."""
        for start in range(0, self.size, chunk_bytes):
            if isinstance(self.file, io.BytesIO):
                yield self._read(start, chunk_bytes)
            else:
                yield await _in_thread(self._read, start, chunk_bytes)

    async def fill(self, chunks: AsyncIterator[bytes]) -> None:
        """For a file that does not come from a form."""
        async for chunk in chunks:
            self._feed(chunk)
            await self._flush(is_complete=False)
        await self._flush(is_complete=True)

    def close(self) -> None:
        self.file.close()

    def _feed(self, data: bytes) -> None:
        if len(self.head) < HEAD_BYTES:
            self.head += data[: HEAD_BYTES - len(self.head)]
        self.size += len(data)
        self._unwritten += data

    async def _flush(self, *, is_complete: bool) -> None:
        """Writes buffered data to the file, if it is enough or the last."""
        if self.size <= self._in_memory_bytes:
            if is_complete:
                self._write(bytes(self._unwritten))
        elif is_complete or len(self._unwritten) >= _WRITE_BYTES:
            data = bytes(self._unwritten)
            self._unwritten.clear()
            await _in_thread(self._write_to_disk, data)

    def _write(self, data: bytes) -> None:
        self._hash.update(data)
        self.file.write(data)

    def _write_to_disk(self, data: bytes) -> None:
        if isinstance(self.file, io.BytesIO):
            # Anonymous, or unlinked at once if the file system does not support that. Assigned
            # before the first write, so that close() always finds it.
            self.file = cast(BinaryIO, tempfile.TemporaryFile())  # noqa: SIM115
        self._write(data)

    def _read(self, start: int, length: int) -> bytes:
        self.file.seek(start)
        return self.file.read(length)


class Form(msgspec.Struct):
    fields: list[tuple[str, str]] = msgspec.field(default_factory=list)
    files: list[Upload] = msgspec.field(default_factory=list)


@asynccontextmanager
async def read_form(
    scope: Scope,
    receive: Receive,
    *,
    limit: int,
    no_files: str = "",
    max_field_bytes: int = MAX_FIELD_BYTES,
) -> AsyncIterator[Form]:
    """The form in a request of at most `limit` bytes; its files stay open as long as the context.
    `no_files` is the message for forms that must have none: a file is refused before it is stored.

    Raises BadRequest for an invalid form, TooLarge as soon as a limit is exceeded.
    """
    reader = _Reader(_boundary(scope), no_files, max_field_bytes)
    in_memory = max_field_bytes + IN_MEMORY_BYTES + _WRITE_BYTES
    try:
        async for chunk in body_chunks(scope, receive, limit=limit, in_memory=in_memory):
            reader.feed(chunk)
            await reader.flush()
        yield reader.finish()
    finally:
        for upload in reader.form.files:
            upload.close()


def form_to_object(form: Form) -> dict[str, Any]:
    """The form's fields as a JSON object, as in PocketBase.

    `@jsonPayload` fields are JSON objects; a plain field replaces their values. A repeated name
    becomes a list. A text that is exactly the JSON form of a boolean or a number becomes one.
    """
    merged: dict[str, Any] = {}
    values: dict[str, list[Any]] = {}
    for name, text in form.fields:
        if name == JSON_PAYLOAD:
            merged |= decode_json_object(text.encode())
        else:
            values.setdefault(name, []).append(_inferred(text))
    merged |= {name: found[0] if len(found) == 1 else found for name, found in values.items()}
    return merged


def _inferred(text: str) -> Any:
    if text in ("true", "false"):
        return text == "true"
    if _NUMBER.fullmatch(text) is None:
        return text
    try:
        number = float(text) if "." in text else int(text)
    except ValueError:
        return text
    # Only if it prints back to the same text: "007", "1.50" and "-0" stay text.
    return number if str(number) == text else text


# Fifteen digits are exact in a 64-bit float, which browsers use for numbers.
_NUMBER = re.compile(r"-?[0-9.]{1,15}", re.ASCII)


def _boundary(scope: Scope) -> bytes:
    header = next((value for name, value in scope["headers"] if name == b"content-type"), b"")
    if len(header) > MAX_CONTENT_TYPE_BYTES:
        raise BadRequest(f"The Content-Type has over {MAX_CONTENT_TYPE_BYTES} bytes.")
    content_type, options = parse_options_header(header)
    if content_type != b"multipart/form-data":
        raise BadRequest("The request must be multipart/form-data.")
    boundary = options.get(b"boundary", b"")
    if not boundary:
        raise BadRequest("The multipart request names no boundary in its Content-Type.")
    return boundary


class _Reader:
    """Builds a form from the parser's callbacks. These can't await, so `flush` writes the files."""

    def __init__(self, boundary: bytes, no_files: str, max_field_bytes: int) -> None:
        self.form = Form()
        self._no_files = no_files
        self._max_field_bytes = max_field_bytes
        self._parts = 0
        self._field_bytes = 0
        self._is_complete = False
        self._headers: dict[bytes, bytes] = {}
        self._header_name = bytearray()
        self._header_value = bytearray()
        self._field_name = ""
        self._field_value = bytearray()
        self._upload: Upload | None = None
        self._ended: list[Upload] = []
        callbacks: MultipartCallbacks = {
            "on_part_begin": self._on_part_begin,
            "on_header_field": self._on_header_field,
            "on_header_value": self._on_header_value,
            "on_header_end": self._on_header_end,
            "on_headers_finished": self._on_headers_finished,
            "on_part_data": self._on_part_data,
            "on_part_end": self._on_part_end,
            "on_end": self._on_end,
        }
        with _parser_errors_as_bad_request():
            self._parser = MultipartParser(
                boundary,
                callbacks,
                max_header_count=MAX_PART_HEADERS,
                max_header_size=MAX_HEADER_BYTES,
            )

    def feed(self, chunk: bytes) -> None:
        with _parser_errors_as_bad_request():
            self._parser.write(chunk)

    async def flush(self) -> None:
        while self._ended:
            await self._ended.pop()._flush(is_complete=True)
        if self._upload is not None:
            await self._upload._flush(is_complete=False)

    def finish(self) -> Form:
        if not self._is_complete:
            raise BadRequest("The multipart body ends before its closing boundary.")
        return self.form

    def _on_part_begin(self) -> None:
        self._parts += 1
        if self._parts > MAX_PARTS:
            raise BadRequest(f"The form has more than {MAX_PARTS} parts.")
        self._headers = {}
        self._field_value = bytearray()
        self._upload = None

    def _on_header_field(self, data: bytes, start: int, end: int) -> None:
        self._header_name += data[start:end]

    def _on_header_value(self, data: bytes, start: int, end: int) -> None:
        self._header_value += data[start:end]

    def _on_header_end(self) -> None:
        self._headers[bytes(self._header_name).lower()] = bytes(self._header_value)
        self._header_name.clear()
        self._header_value.clear()

    def _on_headers_finished(self) -> None:
        disposition, options = parse_options_header(self._headers.get(b"content-disposition"))
        if disposition != b"form-data" or not options.get(b"name"):
            raise BadRequest("A part of the form has no name.")
        encoding = self._headers.get(b"content-transfer-encoding", b"").strip().lower()
        if encoding not in _PLAIN_ENCODINGS:
            raise BadRequest("A part of the form is transfer-encoded; send it as it is.")
        self._field_name = _text(options[b"name"])
        self._count_field_bytes(len(options[b"name"]))
        # A file input left empty sends an empty file name: that is a field without a value.
        if filename := options.get(b"filename"):
            if self._no_files:
                raise BadRequest(self._no_files)
            self._upload = Upload(
                self._field_name,
                filename.decode("utf-8", "replace"),
                self._headers.get(b"content-type", b"").decode("latin-1"),
                max(0, IN_MEMORY_BYTES - sum(each.size for each in self.form.files)),
            )
            self.form.files.append(self._upload)

    def _on_part_data(self, data: bytes, start: int, end: int) -> None:
        if self._upload is not None:
            self._upload._feed(data[start:end])
        else:
            self._count_field_bytes(end - start)
            self._field_value += data[start:end]

    def _on_part_end(self) -> None:
        if self._upload is not None:
            self._ended.append(self._upload)
            self._upload = None
        else:
            self.form.fields.append((self._field_name, _text(self._field_value)))

    def _on_end(self) -> None:
        self._is_complete = True

    def _count_field_bytes(self, count: int) -> None:
        self._field_bytes += count
        most = self._max_field_bytes
        if self._field_bytes > most:
            raise TooLarge(f"The form's fields contain more than {most:,} bytes of text.")


@contextmanager
def _parser_errors_as_bad_request() -> Iterator[None]:
    try:
        yield
    except FormParserError as error:
        raise BadRequest("The multipart body is malformed.") from error


def _text(raw: bytes | bytearray) -> str:
    try:
        text = raw.decode()
    except UnicodeDecodeError as error:
        raise BadRequest("A field of the form is not valid UTF-8.") from error
    if "\0" in text:
        raise BadRequest("A field of the form contains a NUL character, which text can't contain.")
    return text


async def _in_thread(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Like `asyncio.to_thread`, but a cancelled caller waits until the thread has ended."""
    return await complete(asyncio.to_thread(work, *args, **kwargs))
