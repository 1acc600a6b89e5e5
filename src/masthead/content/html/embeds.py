"""Players and posts of other sites in a text: a paragraph that holds nothing but its own address as
a link. A frame became one when the text was imported, saved by the editor or sanitized.

Pages and emails show it as a box with a link: nothing is asked of the other site before the reader
follows it, so it learns nothing of who reads.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple
from urllib.parse import urlsplit

from masthead.base.languages.words import Words, marked, words
from masthead.content.html.markup import Token

MAX_ADDRESS: Final = 80
"""Characters that are shown."""
VIDEO: Final = marked("Video on %(service)s")
SOUND: Final = marked("Sound on %(service)s")
POST: Final = marked("Post on %(service)s")
CODE: Final = marked("Code on %(service)s")
MAP: Final = marked("Map on %(service)s")
_KINDS: Final = {
    "youtube.com": (VIDEO, "YouTube"),
    "youtu.be": (VIDEO, "YouTube"),
    "youtube-nocookie.com": (VIDEO, "YouTube"),
    "vimeo.com": (VIDEO, "Vimeo"),
    "tiktok.com": (VIDEO, "TikTok"),
    "twitch.tv": (VIDEO, "Twitch"),
    "dailymotion.com": (VIDEO, "Dailymotion"),
    "spotify.com": (SOUND, "Spotify"),
    "soundcloud.com": (SOUND, "SoundCloud"),
    "bandcamp.com": (SOUND, "Bandcamp"),
    "podcasts.apple.com": (SOUND, "Apple Podcasts"),
    "x.com": (POST, "X"),
    "twitter.com": (POST, "X"),
    "bsky.app": (POST, "Bluesky"),
    "instagram.com": (POST, "Instagram"),
    "facebook.com": (POST, "Facebook"),
    "codepen.io": (CODE, "CodePen"),
    "gist.github.com": (CODE, "GitHub"),
    "openstreetmap.org": (MAP, "OpenStreetMap"),
}
_BLANK: Final = frozenset(" \t\r\n\f")


class Embed(NamedTuple):
    address: str
    kind: str
    """Such as "Video on YouTube"."""
    where: str
    """The address as it is shown."""


def find_embed(tokens: Sequence[Token], at: int) -> tuple[Embed, int] | None:
    """That of the paragraph at `at`, and the index after it; None for any other paragraph."""
    found = [each for each in tokens[at + 1 : at + 7] if not _is_blank(each)]
    if [each[:2] for each in found[:1]] != [("start", "a")] or len(found) < 4:
        return None
    link, text, *ends = found[:4]
    address = link.attributes.get("href", "")
    if text.kind != "text" or text.name.strip() != address:
        return None
    if [each[:2] for each in ends] != [("end", "a"), ("end", "p")]:
        return None
    embed = _embed(address)
    return (embed, tokens.index(ends[1], at) + 1) if embed else None


def _is_blank(token: Token) -> bool:
    return token.kind == "text" and not set(token.name) - _BLANK


def _embed(address: str) -> Embed | None:
    try:
        parts = urlsplit(address)
        host = (parts.hostname or "").removeprefix("www.")
    except ValueError:
        return None
    if parts.scheme not in ("http", "https") or not host:
        return None
    where = host + parts.path.rstrip("/") + (f"?{parts.query}" if parts.query else "")
    if len(where) > MAX_ADDRESS:
        where = where[: MAX_ADDRESS - 1] + "…"
    return Embed(address, _kind(host), where)


def _kind(host: str) -> str:
    """Looks up the host, then each domain that it is a part of."""
    parts = host.split(".")
    for start in range(len(parts) - 1):
        if found := _KINDS.get(".".join(parts[start:])):
            message, service = found
            return str(Words(message, {"service": service}))
    return str(words("Page on %(service)s", service=host))
