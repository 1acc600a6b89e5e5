"""Converts the bytes of an export to UTF-8 that an XML parser accepts, from `<rss` to `</rss>`.

Real exports have PHP notices before the declaration, comments of caching plugins after the end,
control characters, bare ampersands and characters of a second encoding. These are repaired in the
stream; the parser refuses everything else that is not well-formed. The part before the root never
reaches the parser, so a DOCTYPE has no effect.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from typing import BinaryIO, Final

from masthead.base.languages.words import staff_words
from masthead.faces.importers.files.decoding import ESCAPED, WindowsFallback
from masthead.faces.importers.files.densities import REPAIRS, SECTIONS
from masthead.faces.importers.source import BadFile

CHUNK: Final = 64 * 1024
MAX_TAG: Final = 64 * 1024
_MAX_AROUND: Final = 256 * 1024

NOT_WXR: Final = staff_words("This is not a WordPress export (WXR).")

_CDATA: Final = b"<![CDATA["
_CDATA_END: Final = b"]]>"
_LONG_TEXT: Final = 2100
# Longer than any post may be. The parser buffers a text until its end.
_LONGEST_TEXT: Final = 25_000_000
_CONTROLS: Final = bytes(code for code in range(0x20) if code not in b"\t\n\r")
_NOT_CHARACTERS: Final = (b"\xef\xbf\xbe", b"\xef\xbf\xbf")
# Only references that may be wrong, because each match calls a function.
_REFERENCE: Final = re.compile(
    rb"&(?!(?:amp|lt|gt|quot|apos);)(?:(#[0-9]{1,7}|#x[0-9A-Fa-f]{1,6});)?",
)
_ROOT: Final = re.compile(rb"<rss[\s>]")
_ROOT_END: Final = re.compile(rb"</rss\s*>")
_DECLARATIONS: Final = re.compile(rb"<!(?:DOCTYPE|ENTITY|ELEMENT|ATTLIST|NOTATION)", re.IGNORECASE)
_ENCODING: Final = re.compile(rb"<\?xml[^>]{0,200}?encoding\s*=\s*[\"']([A-Za-z0-9._-]{1,40})[\"']")
# The encodings that WordPress could ever write; `codecs` has others that are costly to decode.
_KNOWN: Final = re.compile(
    r"utf-?8|us-ascii|iso-?8859-?\d{1,2}|windows-?125\d|cp125\d|koi8-[ru]|shift_jis|sjis|euc-jp|"
    r"iso-2022-jp|gb2312|gbk|gb18030|big5|euc-kr",
)
_SEVERAL_BYTES: Final = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
    (b"<\x00?\x00", "utf-16-le"),
    (b"\x00<\x00?", "utf-16-be"),
)


class CleanXml:
    """Iterates over the XML of the export. The attributes are final after the iteration.

    `without_long_texts` empties long CDATA sections, which a first pass does not need.
    """

    def __init__(
        self, stream: BinaryIO, *, without_long_texts: bool = False, chunk: int = CHUNK
    ) -> None:
        self._stream = stream
        self._chunk = chunk
        self._without_long_texts = without_long_texts
        self.has_mixed_encodings = False
        self.lines_before = 0
        self.read = 0
        """Bytes of the file, so far."""

    def __iter__(self) -> Iterator[bytes]:
        pieces = self._utf8()
        yield from self._until_root_ends(self._from_root(pieces), pieces)

    def _utf8(self) -> Iterator[bytes]:
        chunk = self._stream.read(self._chunk)
        name = _encoding_of(chunk)
        decoder = _decoder(name, "strict" if name.startswith("utf-8") else "replace")
        fallback = WindowsFallback()
        while chunk:
            self.read += len(chunk)
            state = decoder.getstate()
            try:
                text = decoder.decode(chunk)
            except UnicodeDecodeError:
                # WordPress exports a database of mixed encodings unchanged.
                self.has_mixed_encodings = True
                decoder = _decoder(name, ESCAPED)
                decoder.setstate(state)
                text = decoder.decode(chunk)
            if self.has_mixed_encodings:
                text = fallback.decode(text)
            yield _without_controls(text.encode())
            chunk = self._stream.read(self._chunk)

    def _from_root(self, pieces: Iterator[bytes]) -> Iterator[bytes]:
        head = b""
        for piece in pieces:
            head += piece
            root = _ROOT.search(head)
            if root:
                before = head[: root.start()]
                if _DECLARATIONS.search(before):
                    raise BadFile(
                        staff_words("The export declares a DOCTYPE or entities, which is not WXR.")
                    )
                self.lines_before = before.count(b"\n")
                yield head[root.start() :]
                yield from pieces
                return
            if len(head) > _MAX_AROUND:
                break
        raise BadFile(NOT_WXR if head.strip() else staff_words("The file is empty."))

    def _until_root_ends(
        self, pieces: Iterator[bytes], remaining: Iterator[bytes]
    ) -> Iterator[bytes]:
        markup = _Markup(without_long_texts=self._without_long_texts)
        for piece in pieces:
            yield markup.feed(piece)
            SECTIONS.check(markup.sections, self.read)
            REPAIRS.check(markup.repairs, self.read)
            if markup.after_root is not None:
                _check_after_root(markup.after_root, remaining)
                return
        yield markup.rest()


def _encoding_of(head: bytes) -> str:
    for start, name in _SEVERAL_BYTES:
        if head.startswith(start):
            return name
    declared = _ENCODING.search(head)
    if declared is None:
        return "utf-8"
    name = declared[1].decode().lower()
    # The declaration was read as ASCII, so the file is not UTF-16.
    if name.startswith("utf-16"):
        return "utf-8"
    if not _KNOWN.fullmatch(name):
        raise BadFile(staff_words("The export is written in an encoding that is not supported."))
    # As browsers do: Windows-1252 has quotes and dashes where ISO 8859-1 has control characters.
    return "cp1252" if name in ("iso-8859-1", "iso8859-1", "us-ascii") else name


def _decoder(name: str, errors: str) -> codecs.IncrementalDecoder:
    try:
        return codecs.getincrementaldecoder(name)(errors)
    except LookupError:
        raise BadFile(
            staff_words("The export is written in an encoding that is not supported.")
        ) from None


def _without_controls(data: bytes) -> bytes:
    data = data.translate(None, _CONTROLS)
    for wrong in _NOT_CHARACTERS:
        if wrong in data:
            data = data.replace(wrong, b"")
    return data


class _Markup:
    """Repairs the markup outside of CDATA, and finds the end of the root.

    Almost every text of an export is CDATA and needs no repair, so the time of a first pass
    depends on the work per section.
    """

    def __init__(self, *, without_long_texts: bool) -> None:
        self._longest = _LONG_TEXT if without_long_texts else None
        self._held = b""
        self._in_cdata = False
        self._text_so_far = 0
        self.after_root: bytes | None = None
        self.sections = 0
        self.repairs = 0

    def feed(self, data: bytes) -> bytes:
        data = self._held + data
        self._held = b""
        # A quick check, because only the last piece has the end.
        may_end = b"</rss" in data
        *sections, last = data.split(_CDATA_END)
        self.sections += len(sections)
        done: list[bytes] = []
        for index, section in enumerate(sections):
            start = 0 if self._in_cdata else section.find(_CDATA)
            if start < 0 or may_end or section.find(b"&", 0, start) >= 0:
                done.append(self._repaired_section(section))
                if self.after_root is not None:
                    self.after_root += _CDATA_END.join((b"", *sections[index + 1 :], last))
                    return b"".join(done)
                continue
            done.append(self._shortened(section, start) if self._longest else section)
            done.append(_CDATA_END)
            self._in_cdata = False
        done.append(self._incomplete(last))
        if len(self._held) > MAX_TAG:
            raise BadFile(staff_words("The export has a tag that is longer than any real one."))
        return b"".join(done)

    def rest(self) -> bytes:
        return self._held if self._in_cdata else self._repaired(self._held)

    def _repaired_section(self, section: bytes) -> bytes:
        """Up to and with a `]]>`: as a rule markup, then the CDATA that it ends."""
        if self._in_cdata:
            self._in_cdata = False
            return self._shortened(section, 0) + _CDATA_END
        start = section.find(_CDATA)
        if start < 0:
            # Left by plugins that write CDATA into CDATA.
            return self._markup(section) + (b"]]&gt;" if self.after_root is None else b"")
        markup = self._markup(section[:start])
        if self.after_root is not None:
            self.after_root += section[start:]
            return markup
        return markup + self._shortened(section[start:], 0) + _CDATA_END

    def _incomplete(self, last: bytes) -> bytes:
        """After the last `]]>` of a piece. What may continue in the next piece is held back."""
        if self._in_cdata:
            return self._incomplete_cdata(last)
        start = last.find(_CDATA)
        end = _end_of_complete(last) if start < 0 else start
        markup = self._markup(last[:end])
        if self.after_root is not None:
            self.after_root += last[end:]
            return markup
        if start < 0:
            self._held = last[end:]
            return markup
        self._in_cdata = True
        self._text_so_far = 0
        return markup + _CDATA + self._incomplete_cdata(last[end + len(_CDATA) :])

    def _incomplete_cdata(self, text: bytes) -> bytes:
        end = max(0, len(text) - 2)
        self._held = text[end:]
        self._text_so_far += end
        return self._shortened(text[:end], 0) if self._text_so_far < _LONGEST_TEXT else b""

    def _shortened(self, section: bytes, start: int) -> bytes:
        """`start` is the offset of the CDATA, or of the text in it."""
        if self._longest is None or len(section) - start <= self._longest:
            return section
        return (
            section[: start + len(_CDATA)] if section.startswith(_CDATA, start) else section[:start]
        )

    def _markup(self, markup: bytes) -> bytes:
        root_end = _ROOT_END.search(markup) if b"</rss" in markup else None
        if root_end:
            self.after_root = markup[root_end.end() :]
            markup = markup[: root_end.end()]
        return self._repaired(markup)

    def _repaired(self, markup: bytes) -> bytes:
        if b"&" not in markup:
            return markup
        repaired, count = _REFERENCE.subn(_reference, markup)
        self.repairs += count
        return repaired


def _end_of_complete(data: bytes) -> int:
    """The offset of a last tag, reference or `]]>` that may continue in the next piece."""
    tag = data.rfind(b"<")
    if tag >= 0 and data.find(b">", tag) < 0:
        return tag
    reference = data.rfind(b"&", max(0, len(data) - 12))
    if reference >= 0 and data.find(b";", reference) < 0:
        return reference
    return max(0, len(data) - 2) if data.endswith(b"]") else len(data)


def _reference(found: re.Match[bytes]) -> bytes:
    name = found[1]
    if name is None:
        return b"&amp;"
    code = int(name[2:], 16) if name.startswith(b"#x") else int(name[1:])
    return found[0] if _is_character(code) else b""


def _is_character(code: int) -> bool:
    if code < 0x20:
        return code in (0x9, 0xA, 0xD)
    return code < 0xD800 or 0xE000 <= code < 0xFFFE or 0x10000 <= code <= 0x10FFFF


def _check_after_root(after: bytes, remaining: Iterator[bytes]) -> None:
    """Comments of a caching plugin are ignored; a second export is an error."""
    for piece in remaining:
        after += piece
        if len(after) > _MAX_AROUND:
            break
    if len(after) > _MAX_AROUND or _ROOT.search(after):
        raise BadFile(
            staff_words(
                "The file continues after the end of the export; import one file after the other."
            )
        )
