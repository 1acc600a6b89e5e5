"""Every parser that reads strangers' bytes, as a function of bytes: it takes them or refuses them
with a documented error, and what it takes keeps a promise. Anything else is a finding."""

from __future__ import annotations

import asyncio
import io
import os
import re
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

NOW = datetime(2026, 11, 14, 9, 30, tzinfo=UTC)
MAX_BYTES = 8_192
"""The longest input: the parsers' limits on size have tests of their own."""


class Target(NamedTuple):
    run: Callable[[bytes], None]
    seeds: Callable[[], list[bytes]]


def _text(data: bytes) -> str:
    """As a request brings it: any Unicode, but no lone surrogates."""
    return data.decode("utf-8", "replace")


@contextmanager
def _file(data: bytes, ending: str = "") -> Iterator[Path]:
    folder = "/dev/shm" if os.path.isdir("/dev/shm") else None
    with tempfile.NamedTemporaryFile(dir=folder, suffix=ending) as file:
        file.write(data)
        file.flush()
        yield Path(file.name)


# Filters.


def filters(data: bytes) -> None:
    from masthead.engine.records.fields.base import FieldError
    from masthead.engine.records.filter.parser import FilterError, parse, parse_cached
    from masthead.engine.records.write.unit_events import WrittenEvent
    from masthead.features.webhooks.event_filter import EventFilter, passes

    text = _text(data)
    with suppress(FilterError):
        parsed = parse_cached(text)
        assert parse(text) == parsed.expression
    with suppress(FieldError):
        taken = EventFilter(name="filter").parse(text)
        event = WrittenEvent("e" * 15, "post.published", "2026-11-14T09:30:00.000Z", payload="{}")
        passes(taken, event)


def _filters() -> list[bytes]:
    return [
        b"title = 'a' && (created > @now || tags ?= \"x\")",
        b"@request.auth.id != '' && post_id.authors ?= @request.auth.id",
        b"data.amount > 10.5 && data.tier ~ 'pa%' || event = 'post.published'",
        b'title:lower = \'x\' // note\n && tags:length >= 2 && n ?!= null && a !~ "\\"q\\""',
        b"geoDistance(a.lon, a.lat, 1, 2) < 3 && x ?> -1e3 && y = true",
    ]


# Texts.

_UNSAFE = re.compile(r"<(?:script|object|base|meta|form)\b|<[^>]*\s(?:on[a-z]+|srcdoc)\s*=", re.I)
_ADDRESSES = re.compile(r'<[a-z0-9]+\b[^>]*? (?:href|src|poster|data-url)="([^"]*)"', re.I)


def _check_safe(html: str) -> None:
    from html import unescape

    assert not _UNSAFE.search(html), html
    for address in _ADDRESSES.findall(html):
        scheme = re.match(r"[\s\x00-\x20]*([a-zA-Z][a-zA-Z0-9+.-]*):", unescape(address))
        allowed = ("http", "https", "mailto", "tel", "data")
        assert scheme is None or scheme[1].lower() in allowed, html


def _joined(tokens: Sequence[Any]) -> list[Any]:
    """A text may come in several tokens."""
    found: list[Any] = []
    for each in tokens:
        if each.kind == "text" and found and found[-1].kind == "text":
            found[-1] = found[-1]._replace(name=found[-1].name + each.name)
        else:
            found.append(each)
    return found


def html(data: bytes) -> None:
    from masthead.content.html.effort import effort_of
    from masthead.content.html.markup import cleaned, tokens_of
    from masthead.content.html.sanitizer import TooCostly
    from masthead.content.texts.as_markdown import markdown_of
    from masthead.content.texts.editor import render
    from masthead.content.texts.from_html import to_document
    from masthead.engine.records.read.plain_text import plain_text

    given = _text(data)
    if not effort_of(given).is_light:
        # It is cleaned in a process that the kernel limits.
        return
    try:
        clean, tokens = cleaned(given)
    except TooCostly:
        return
    _check_safe(clean)
    assert _joined(tokens_of(clean)) == _joined(tokens), clean
    markdown_of(tokens, str)
    plain_text(given, 500)
    document, reason = to_document(tokens)
    assert (document is None) == bool(reason)
    if document is not None:
        _check_safe(render(document) or "")


def _html() -> list[bytes]:
    return [
        b'<h2 id="a">A</h2><p>b <b>c</b><a href="https://x.example" onclick="x">d</a></p>',
        b'<figure><img src="/media/a.png" alt="x"><figcaption>y</figcaption></figure>'
        b'<hr class="paywall">',
        b"<table><tr><td colspan=2>a</td></tr></table><ul><li>a<ul><li>b</ul></ul><!--more-->",
        b'<div data-card="callout" data-emoji="x"><p>a</p></div><script>alert(1)</script>',
        b'<svg><a xlink:href="javascript:x">a</a></svg><math><mi/></math><template><p>x',
        b'<p style="text-align:center;background:url(x)">a &amp; &lt;b&gt; &#106;avascript:</p>',
    ]


def markdown(data: bytes) -> None:
    from masthead.base.errors import Invalid
    from masthead.content.html.effort import effort_of
    from masthead.content.html.markup import cleaned
    from masthead.content.html.sanitizer import TooCostly
    from masthead.content.texts.markdown import convert

    try:
        made = convert(_text(data[:2_000]))
    except Invalid:
        return
    if effort_of(made.content_html).is_light:
        with suppress(TooCostly):
            _check_safe(cleaned(made.content_html)[0])


def _markdown() -> list[bytes]:
    return [
        b'# A\n\nb *c* **d** `e` [f](https://x.example "g")\n\n- [x] h\n- [ ] i\n\n1. j\n',
        b"| a | b |\n|:-:|--:|\n| c | d |\n\n> q\n> > r\n\n```py\nx\n```\n\n[^1]\n\n[^1]: note\n",
        b"<div>x</div>\n\n<b>y</b> ![z](a.png)\n***\n~~s~~ <https://x.example> \\*\n",
    ]


def documents(data: bytes) -> None:
    """Documents that an editor sends."""
    from masthead.base.errors import Invalid
    from masthead.content.texts.editor import render
    from masthead.content.texts.editor_document import opened_document

    try:
        given = msgspec.json.decode(data)
    except (ValueError, RecursionError):
        return
    try:
        shown = render(given)
    except Invalid:
        return
    _check_safe(shown or "")
    opened_document(given)


def _documents() -> list[bytes]:
    link = {"type": "link", "attrs": {"href": "https://x.example"}}
    text = {"type": "text", "text": "a", "marks": [link, {"type": "bold"}]}
    figure = {"type": "figure", "attrs": {"src": "/media/a.png", "alt": "x"}, "content": [text]}
    item = {"type": "listItem", "content": [{"type": "paragraph", "content": [text]}]}
    cards = [
        {"type": "callout", "attrs": {"emoji": "x"}, "content": [{"type": "paragraph"}]},
        {"type": "embed", "attrs": {"url": "https://www.youtube.com/watch?v=x"}},
        {"type": "gallery", "attrs": {"images": [{"src": "/media/a.png"}]}},
    ]
    blocks = [
        [{"type": "heading", "attrs": {"level": 2}, "content": [text]}, figure],
        [{"type": "bulletList", "content": [item]}],
        cards,
    ]
    return [msgspec.json.encode({"type": "doc", "content": each}) for each in blocks]


# Exports of other platforms.


def _export(platform: str, ending: str, data: bytes) -> None:
    from masthead.faces.importers.platforms.exports import open_export
    from masthead.faces.importers.source import BadFile, Options, SourcePost
    from masthead.faces.importers.write.preparing import prepare_all

    everything = Options(
        include_pages=True,
        include_products=True,
        include_comments=True,
        include_authors=True,
        include_unpublished=True,
        consent="all",
    )
    with _file(data, ending) as path, suppress(BadFile):
        source = open_export(platform, path, everything)
        try:
            for each in source.posts():
                if isinstance(each, SourcePost):
                    prepare_all([each], "https://x.example")
            for _ in (*source.authors(), *source.members(), *source.comments()):
                pass
            for _ in source.addresses():
                pass
        finally:
            source.close()


def wxr(data: bytes) -> None:
    _export("wordpress", ".xml", data)


def _wxr() -> list[bytes]:
    from tests.faces.importers.platforms.wordpress.wxr import HEAD, TAIL, item

    blocks = '<!-- wp:gallery {"ids":[1]} --><ul><li>x</li></ul><!-- /wp:gallery --> [caption]y[/'
    bodies = [item(), item(blocks, post_id=7, terms=[("category", "News")], raw="<wp:comment/>")]
    return [(HEAD.format(version="1.2") + "".join(bodies) + TAIL).encode()]


def ghost(data: bytes) -> None:
    _export("ghost", ".json", data)


def _ghost() -> list[bytes]:
    from tests.faces.importers.samples import ghost as samples
    from tests.faces.importers.samples import ghost_bodies

    lexical = msgspec.json.encode(ghost_bodies.LEXICAL).decode()
    mobiledoc = msgspec.json.encode(ghost_bodies.MOBILEDOC).decode()
    posts = [samples.row(1, lexical=lexical), samples.row(2, mobiledoc=mobiledoc)]
    return [samples.written(posts).encode(), samples.LATEST.encode()]


def substack(data: bytes) -> None:
    """The bytes are the list of posts, beside a text of one of them."""
    import zipfile

    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("posts.csv", data)
        archive.writestr("posts/1.a.html", "<p>x</p>")
    _export("substack", ".zip", packed.getvalue())


def _substack() -> list[bytes]:
    return [
        b"post_id,post_date,is_published,email_sent_at,title,type,audience,subtitle\n"
        b'1.a,2024-01-02T03:04:05.000Z,true,,"A, ""b""",newsletter,everyone,c\n'
        b"2.b,,false,,,page,,\n",
    ]


def members(data: bytes) -> None:
    """A list of members as a CSV file."""
    from masthead.faces.importers.files.csv_rows import CsvTable
    from masthead.faces.importers.files.uploaded import reopened
    from masthead.faces.importers.member_csv.rows import guessed, member_rows
    from masthead.faces.importers.source import BadFile

    with suppress(BadFile):
        table = CsvTable(reopened(io.BytesIO(data)))
        for _ in member_rows(table, guessed(table.headings)):
            pass


def _members() -> list[bytes]:
    return [
        b"email,name,tier,labels,newsletter,created_at\n"
        b'a@x.example,Ann,paid,"a, b",yes,2024-01-02\n',
        b'sep=;\nE-Mail;Name\n"b@x.example";\'=1+1\n',
        "\ufeffemail\tnote\nä@x.example\tü\n".encode("utf-16"),
    ]


def zips(data: bytes) -> None:
    from masthead.faces.importers.files.export_files import open_files
    from masthead.faces.importers.platforms.guessing import guess_platform
    from masthead.faces.importers.source import BadFile

    with suppress(BadFile):
        guess_platform(io.BytesIO(data))
    with _file(data) as path, suppress(BadFile):
        opened = open_files(path)
        opened.close()


def _zips() -> list[bytes]:
    import zipfile

    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("posts.csv", "post_id,title\n1,a\n")
        archive.writestr("posts/1.a.html", "<p>x</p>" * 50)
    return [packed.getvalue(), b"<?xml version='1.0'?><rss>", b'{"db":[{"data":{}}]}']


def archives(data: bytes) -> None:
    """A site's archive and a backup."""
    from masthead.base.errors import MastheadError
    from masthead.faces.site_archive.header import read_site
    from masthead.service.backup.archive import read_contents
    from masthead.storage.archives import DamagedArchive, TableLayout, read_rows

    with _file(data) as path:
        for read in (read_site, read_contents):
            with suppress(MastheadError):
                read(path)
    with suppress(DamagedArchive):
        read_rows(io.BytesIO(data), TableLayout(["a", "b"], []))


@cache
def _archives() -> list[bytes]:
    import hashlib
    import tarfile

    header = msgspec.json.encode(
        {
            "format": 1,
            "version": "1",
            "created": "2026-11-14T09:30:00.000Z",
            "engine": "sqlite",
            "revision": "0087",
            "tables": {"posts": {"columns": ["tenant_id", "id"], "blobs": []}},
        }
    )
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        sums = b""
        for name, content in (("masthead.json", header), ("secret.key", b"k" * 40)):
            sums += f"{hashlib.sha256(content).hexdigest()}  {name}\n".encode()
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
        entry = tarfile.TarInfo("SHA256SUMS")
        entry.size = len(sums)
        archive.addfile(entry, io.BytesIO(sums))
    # Without the blocks of zeros at its end.
    return [packed.getvalue()[:4_608]]


# Requests.


def cookies(data: bytes) -> None:
    from masthead.base.errors import HeadTooLarge
    from masthead.identity.sessions import peek, token_in_cookie
    from masthead.web.cookies import cookies_of

    scope: Any = {"type": "http", "headers": [(b"cookie", data)]}
    with suppress(HeadTooLarge):
        for value in cookies_of(scope).values():
            token = token_in_cookie(value)
            if token is not None:
                peek(token)
    peek(data.decode("latin-1"))


def _cookies() -> list[bytes]:
    import jwt

    claims = {
        "id": "a" * 15,
        "type": "auth",
        "collectionId": "pbc_1",
        "exp": 1_800_000_000,
        "refreshable": True,
    }
    token = jwt.encode(claims, "k" * 40, "HS256").encode()
    return [
        b'a=b; pb_auth={"token":"%s","record":{}}; c="d"' % token,
        b"pb_auth=%7B%22token%22%3A%22" + token + b"%22%7D",
        token,
    ]


_BOUNDARY = "----form-7MA4YWxk"


def multipart(data: bytes) -> None:
    """The first byte says how the rest arrives in pieces, which must not matter."""
    step = 1 + (data[0] if data else 0)
    body = data[1:]
    whole = asyncio.run(_form([body]))
    pieces = [body[at : at + step] for at in range(0, len(body), step)]
    assert asyncio.run(_form(pieces)) == whole


async def _form(pieces: list[bytes]) -> Any:
    from masthead.base.errors import MastheadError
    from masthead.web.multipart import form_to_object, read_form

    source = iter(pieces)

    async def receive() -> Any:
        piece = next(source, None)
        return {"type": "http.request", "body": piece or b"", "more_body": piece is not None}

    content_type = f"multipart/form-data; boundary={_BOUNDARY}".encode()
    scope: Any = {"type": "http", "headers": [(b"content-type", content_type)]}
    try:
        async with read_form(scope, receive, limit=100_000) as form:
            files = [(each.field, each.filename, each.sha256) for each in form.files]
            try:
                made = repr(form_to_object(form))
            except MastheadError as error:
                made = type(error).__name__
            return form.fields, files, made
    except MastheadError as error:
        return type(error).__name__


def _multipart() -> list[bytes]:
    head = f'--{_BOUNDARY}\r\nContent-Disposition: form-data; name="'.encode()
    end = f"--{_BOUNDARY}--\r\n".encode()
    file = b'a"; filename="b.png"\r\nContent-Type: image/png\r\n\r\n\x89PNG\r\n'
    return [
        b"\x05" + head + b'title"\r\n\r\nA\r\n' + head + file + end,
        b"\x01" + head + b'@jsonPayload"\r\n\r\n{"a":[1,true]}\r\n' + end,
    ]


def bodies(data: bytes) -> None:
    """JSON of callers, assistants and other sites."""
    from masthead.base.errors import BadRequest
    from masthead.faces.admin.pages.texts.cards import _of_oembed, _of_page
    from masthead.faces.mcp.limits import _is_call
    from masthead.web.bodies import decode_json_object

    with suppress(BadRequest):
        decode_json_object(data)
    _is_call(data)
    _of_oembed(data)
    _of_page(data, "", "https://x.example/")


def _bodies() -> list[bytes]:
    return [
        b'{"title":"a","tags":["b",{"c":null}],"n":-1.5e3,"t":true,"u":"\\u00e4\\u0000"}',
        b'{"method":"tools/call","params":{}}',
        b'{"title":"x","thumbnail_url":"https://x.example/a.png"}',
        b"<meta charset=latin-1><meta property='og:title' content='a &amp; b'><title>c</title>",
    ]


def queries(data: bytes) -> None:
    from masthead.base.email_address import is_email, normal_email
    from masthead.base.errors import MastheadError
    from masthead.engine.records.search.terms import read_query
    from masthead.web.query_string import parse_query_string

    for encoding in ("utf-8", "latin-1"):
        with suppress(MastheadError):
            parse_query_string(data, encoding)
    text = _text(data)
    read_query(text)
    if is_email(normal_email(text)):
        assert "\n" not in text.strip()


def _queries() -> list[bytes]:
    return [
        b"page=2&filter=title%20%3D%20'a'&a=1&a=2&%E4=%ff&=x",
        b'"a b" c* -d',
        b"a.b+c@x.example",
    ]


# Signed messages.


def signatures(data: bytes) -> None:
    """Without the secret, no bytes are a signature."""
    from masthead.features.payments.signatures import PARSERS, is_authentic
    from masthead.features.webhooks.signing import verify

    value = data.decode("latin-1")
    headers = dict.fromkeys(PARSERS, value)
    assert not is_authentic(headers, "s" * 32, b"body", int(NOW.timestamp()))
    moment, _, signature = value.partition(",")
    assert not verify("s" * 32, signature, moment, b"body", now=NOW)


def _signatures() -> list[bytes]:
    digest = b"0" * 64
    return [b"t=1794648600,v1=" + digest, b"sha256=" + digest, b"1794648600,sha256=" + digest]


@cache
def _provider() -> tuple[bytes, list[Any]]:
    """A real token and the keys of its provider."""
    import jwt
    from cryptography.hazmat.primitives.asymmetric import ed25519

    key = ed25519.Ed25519PrivateKey.from_private_bytes(b"k" * 32)
    claims = {
        "iss": "https://id.example",
        "aud": "client",
        "sub": "ann",
        "nonce": "n",
        "iat": NOW.timestamp(),
        "exp": NOW.timestamp() + 300,
    }
    token = jwt.encode(claims, key, "EdDSA", {"kid": "one"})
    public = jwt.algorithms.OKPAlgorithm.to_jwk(key.public_key(), as_dict=True)
    return token.encode(), [{**public, "kid": "one", "use": "sig"}]


def id_tokens(data: bytes) -> None:
    """The provider's own token is taken, and no other."""
    from masthead.features.single_sign_on.errors import TokenRefused
    from masthead.features.single_sign_on.id_token import Expected, key_id, verify

    token, keys = _provider()
    given = _text(data)
    expected = Expected("https://id.example", "client", "n", NOW)
    with suppress(TokenRefused):
        key_id(given)
    with suppress(TokenRefused):
        claims = verify(given, keys, expected)
        # The last character of base64 may have bits that mean nothing.
        assert given.encode()[:-1] == token[:-1], given
        assert claims["sub"] == "ann"


def _id_tokens() -> list[bytes]:
    return [_provider()[0]]


def notifications(data: bytes) -> None:
    """Delivery status notifications, and what providers post instead."""
    from masthead.base.errors import Unauthenticated
    from masthead.features.mailings import report_sources, sns
    from masthead.features.mailings.notifications import read_notification

    with suppress(ValueError):
        for each in read_notification(data):
            assert each.email is not None
    with suppress(Unauthenticated):
        sns._decoded(data)
    try:
        given = msgspec.json.decode(data)
    except (ValueError, RecursionError):
        return
    # As `authentic_reports` does.
    refusals = (KeyError, TypeError, AttributeError, ValueError, RecursionError)
    for _, read in report_sources.SOURCES.values():
        with suppress(*refusals):
            list(read(given))


def _notifications() -> list[bytes]:
    return [
        b"Content-Type: multipart/report; boundary=b\n\n--b\n"
        b"Content-Type: message/delivery-status\n\n"
        b"Reporting-MTA: dns; x\n\nFinal-Recipient: rfc822; <a@x.example>\nAction: failed\n"
        b"Status: 5.1.1\nDiagnostic-Code: smtp; 550\n\n--b\nContent-Type: text/rfc822-headers\n\n"
        b"Message-ID: <m@x>\n\n--b--\n",
        b'[{"type":"bounce","email":"a@x.example","kind":"hard","message_id":"m"}]',
        b'{"event-data":{"event":"failed","severity":"permanent","recipient":"a@x.example"}}',
        b'[{"event":"bounce","email":"a@x.example","type":"blocked"}]',
    ]


# Files.


def pictures(data: bytes) -> None:
    """Type, size and location of an uploaded picture, and drawings as SVG."""
    from masthead.features.media.images import dimensions
    from masthead.features.media.location import strip_location
    from masthead.features.media.sniff import sniff
    from masthead.features.media.svg import UnsafeSvg, clean_svg, svg_size

    assert "/" in sniff(data[:4_096], "a.png")
    stripped = strip_location(io.BytesIO(data))
    # It is overwritten in place, or its part is taken out. (Once more may remove more of a file in
    # which several structures overlap.)
    assert stripped is None or len(stripped) <= len(data)
    dimensions(io.BytesIO(data))
    with suppress(UnsafeSvg):
        clean = clean_svg(io.BytesIO(data))
        assert b"<script" not in clean.lower()
        svg_size(clean)


def _pictures() -> list[bytes]:
    from PIL import Image
    from tests.features.media.pictures import exif

    made = []
    for kind in ("JPEG", "PNG", "WEBP"):
        file = io.BytesIO()
        Image.new("RGB", (3, 2)).save(file, kind, exif=exif().tobytes())
        made.append(file.getvalue())
    svg = b'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 3 2"><a href="x"><path d="M"/></a>'
    return [*made, svg + b"</svg>"]


TARGETS: dict[str, Target] = {
    "filter": Target(filters, _filters),
    "html": Target(html, _html),
    "markdown": Target(markdown, _markdown),
    "document": Target(documents, _documents),
    "wxr": Target(wxr, _wxr),
    "ghost": Target(ghost, _ghost),
    "substack": Target(substack, _substack),
    "members": Target(members, _members),
    "zip": Target(zips, _zips),
    "archive": Target(archives, _archives),
    "cookies": Target(cookies, _cookies),
    "multipart": Target(multipart, _multipart),
    "body": Target(bodies, _bodies),
    "query": Target(queries, _queries),
    "signature": Target(signatures, _signatures),
    "id-token": Target(id_tokens, _id_tokens),
    "notification": Target(notifications, _notifications),
    "picture": Target(pictures, _pictures),
}
