"""Style sheets, fonts and scripts under `/assets/`, each at an address that holds its hash.

The files are read and linked to one another when the process starts, and compressed when they are
first asked for. An address never shows another content, so browsers keep it for a year without
asking again.
"""

from __future__ import annotations

import asyncio
import gzip
import hashlib
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from pathlib import Path, PurePosixPath

import msgspec

from masthead.base.errors import NotFound
from masthead.base.logs import log
from masthead.web.answers import Answer, RawHeaders, header_list
from masthead.web.compression import MAX_INLINE_BYTES, MIN_BYTES, chosen_encoding
from masthead.web.dispatch import Route, reading
from masthead.web.policy import FOR_ALL
from masthead.web.request import Request
from masthead.web.style_sheets import join_parts, named_parts, resolve

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

PREFIX = "/assets/"
TYPES: Mapping[str, str] = {
    ".avif": "image/avif",
    ".css": "text/css; charset=utf-8",
    ".gif": "image/gif",
    ".ico": "image/x-icon",
    ".jpeg": "image/jpeg",
    ".jpg": "image/jpeg",
    ".js": "text/javascript; charset=utf-8",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
    ".webp": "image/webp",
    ".woff2": "font/woff2",
}
COMPRESSED = frozenset({".css", ".ico", ".js", ".svg", ".txt"})
IMMUTABLE = b"public, max-age=31536000, immutable"

_HASH_LENGTH = 12
_CSS_URL = re.compile(r"""url\(\s*(["']?)([^"')]+)\1\s*\)""")


class UnknownAsset(LookupError):
    """A template or a style sheet names a file that no folder holds."""


class _File(msgspec.Struct, frozen=True):
    content_type: str
    is_compressed: bool
    bodies: dict[str | None, bytes]
    """The bytes by encoding; None is the file as it is. The others are added when they are first
    sent."""

    async def body(self, encoding: str | None) -> bytes:
        if encoding not in self.bodies:
            plain = self.bodies[None]
            if len(plain) > MAX_INLINE_BYTES:
                self.bodies[encoding] = await asyncio.to_thread(_compressed, encoding, plain)
            else:
                self.bodies[encoding] = _compressed(encoding, plain)
        return self.bodies[encoding]


class Assets:
    """The files below some folders; one in a later folder replaces one of the same name before.

    `prefix` is the first part of their addresses after `/assets/`. A name that is in none of the
    folders is looked up in `otherwise`.
    """

    def __init__(
        self, prefix: str, folders: Iterable[Path], *, otherwise: Assets | None = None
    ) -> None:
        self._prefix = PREFIX + (f"{prefix}/" if prefix else "")
        self._otherwise = otherwise
        self._paths: dict[str, Path] = {}
        self._urls: dict[str, str] = {}
        self.files: dict[str, _File] = {}
        for folder in folders:
            self._paths.update(_served_below(folder))
        sheets = {name for name in self._paths if name.endswith(".css")}
        parts = {part for name in sheets for part in named_parts(name, self._text(name) or "")}
        # Style sheets come last: their own hash depends on those of what they name.
        for name in (*sorted(self._paths.keys() - sheets), *sorted(sheets - parts)):
            self._add(name)

    def url(self, name: str) -> str:
        """The address of `name`, a path below the folders such as `fonts/literata.woff2`."""
        if name in self._urls:
            return self._urls[name]
        if self._otherwise is not None:
            return self._otherwise.url(name)
        raise UnknownAsset(f"There is no static file named {name}.")

    def _add(self, name: str) -> None:
        path = PurePosixPath(name)
        if path.suffix == ".css":
            body = join_parts(name, self._sheet).encode()
        else:
            body = self._paths[name].read_bytes()
        digest = hashlib.sha256(body).hexdigest()[:_HASH_LENGTH]
        url = f"{self._prefix}{path.with_suffix('')}-{digest}{path.suffix}"
        self._urls[name] = url
        is_compressed = path.suffix in COMPRESSED and len(body) >= MIN_BYTES
        self.files[url] = _File(TYPES[path.suffix], is_compressed, {None: body})

    def _text(self, name: str) -> str | None:
        """Also a part that only the assets behind have: a theme may import one of `plain`."""
        if name in self._paths:
            return self._paths[name].read_text("utf-8")
        return None if self._otherwise is None else self._otherwise._text(name)

    def _sheet(self, name: str) -> str | None:
        """A style sheet or a part of one, with the addresses of the files that it names."""
        text = self._text(name)
        if text is None:
            return None

        def hashed(match: re.Match[str]) -> str:
            target = match[2]
            if ":" in target or target.startswith(("/", "#")):
                return match[0]
            try:
                return f'url("{self.url(resolve(PurePosixPath(name).parent, target))}")'
            except UnknownAsset:
                log.warning("asset_not_found", named_in=name, file=target)
                return match[0]

        return _CSS_URL.sub(hashed, text)


def assets_routes(*groups: Assets) -> list[Route]:
    """Answers every address below `/assets/`. A route for one of them comes before this one."""
    files = {url: file for group in groups for url, file in group.files.items()}
    return [Route(PREFIX + "{path:path}", reading(partial(_serve, files), FOR_ALL))]


def content_policy(
    origin: str,
    *,
    frame_ancestors: str = "'none'",
    frames: Sequence[str] = (),
    code: Sequence[str] | None = None,
) -> str:
    """The Content-Security-Policy of a page at `origin`. `frames`: the origins of others whose
    pages it has in frames. `code`: the page has code of the site's owner, with inline scripts of
    these hashes; what it loads comes from anywhere over https.

    Scripts and styles come only from `/assets/`: `'self'` would also let an injected tag load an
    uploaded file."""
    assets = origin.rstrip("/") + PREFIX
    scripts = styles = assets
    others = elsewhere = ""
    if code is not None:
        scripts = " ".join((assets, "https:", *code))
        styles = f"{assets} https: 'unsafe-inline'"
        others, elsewhere = " https:", " https: wss:"
    sources = " ".join(("'self'", *frames))
    return (
        f"default-src 'none'; script-src {scripts}; style-src {styles}; font-src 'self'{others}; "
        f"connect-src 'self'{elsewhere}; img-src 'self' https: data: blob:; "
        f"media-src 'self' https:; frame-src {sources}{others}; form-action 'self'{others}; "
        f"base-uri 'none'; frame-ancestors {frame_ancestors}"
    )


async def _serve(files: Mapping[str, _File], request: Request) -> Answer:
    file = files.get(request.path)
    if file is None:
        raise NotFound
    accepted = (header_list(request.scope, b"accept-encoding") or "").encode("latin-1")
    encoding = chosen_encoding(accepted) if file.is_compressed else None
    body = await file.body(encoding)
    # Also for HEAD, whose headers are those of GET: the server leaves the body out.
    return Answer(200, body, _headers(file, encoding))


def _headers(file: _File, encoding: str | None) -> RawHeaders:
    headers: RawHeaders = [
        (b"content-type", file.content_type.encode()),
        # The compression layer skips it: files worth compressing are compressed here, better and
        # once.
        (b"cache-control", IMMUTABLE + b", no-transform"),
        (b"x-content-type-options", b"nosniff"),
    ]
    if file.is_compressed:
        headers.append((b"vary", b"Accept-Encoding"))
    if encoding is not None:
        headers.append((b"content-encoding", encoding.encode()))
    return headers


@lru_cache(maxsize=128)
def _compressed(encoding: str | None, body: bytes) -> bytes:
    """The highest level of zstd would save 4 % more and take six times as long."""
    if encoding == "zstd":
        return zstd.compress(body, level=12)
    return gzip.compress(body, compresslevel=9, mtime=0)


def _served_below(folder: Path) -> Iterator[tuple[str, Path]]:
    if not folder.is_dir():
        return
    root = folder.resolve()
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if not path.is_file() or any(part.startswith(".") for part in name.split("/")):
            continue
        # A link to a file elsewhere on the machine would publish it.
        if not path.resolve().is_relative_to(root):
            log.warning("asset_outside_its_folder", file=str(path))
        elif path.suffix not in TYPES:
            log.warning("asset_of_unknown_type", file=str(path), known=sorted(TYPES))
        else:
            yield name, path
