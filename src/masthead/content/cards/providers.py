"""Sites whose players and posts a card can show: their names, and the address of the player, which
is made of the address that was pasted, without asking them."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final, Literal
from urllib.parse import SplitResult, parse_qs, quote, urlsplit

import msgspec

Look = Literal["video", "sound", "album", "post"]


class Player(msgspec.Struct, frozen=True):
    provider: str
    address: str
    look: Look
    """The shape of its frame."""

    @property
    def origin(self) -> str:
        parts = urlsplit(self.address)
        return f"{parts.scheme}://{parts.netloc}"


class Provider(msgspec.Struct, frozen=True):
    name: str
    player: Callable[[SplitResult], tuple[str, Look] | None]
    hosts: tuple[str, ...] = ()
    """Empty for software that anyone runs: its addresses are known by their path."""
    about: str = ""
    """Where the title and the picture of an address are asked for; empty for the page itself."""


def player_of(address: str) -> Player | None:
    """None for an address of no known site."""
    try:
        parts = urlsplit(address)
        host = (parts.hostname or "").removeprefix("www.").removeprefix("m.")
    except ValueError:
        return None
    if not _PLAIN_HOST.fullmatch(parts.netloc):
        return None
    if parts.scheme != "https" and not (parts.scheme == "http" and host in _BY_HOST):
        return None
    known = _BY_HOST.get(host)
    for provider in (known,) if known else _ANYWHERE:
        if found := provider.player(parts):
            return Player(provider.name, *found)
    return None


def provider_of(address: str) -> Provider | None:
    player = player_of(address)
    return _BY_NAME[player.provider] if player else None


_PLAIN_HOST: Final = re.compile(r"[A-Za-z0-9.-]{1,253}(?::\d{1,5})?", re.ASCII)
"""The page's policy names it."""
_VIDEO_ID: Final = re.compile(r"[\w-]{6,20}", re.ASCII)
_SECONDS: Final = re.compile(r"(?:(\d{1,3})h)?(?:(\d{1,4})m)?(?:(\d{1,6})s?)?", re.ASCII)


def _youtube(parts: SplitResult) -> tuple[str, Look] | None:
    given = parse_qs(parts.query)
    path = parts.path.strip("/").split("/")
    if (parts.hostname or "").endswith("youtu.be"):
        video = path[0]
    elif path[0] in ("embed", "v", "shorts", "live") and len(path) > 1:
        video = path[1]
    else:
        video = given.get("v", [""])[0] if path[0] == "watch" else ""
    if not _VIDEO_ID.fullmatch(video):
        return None
    start = _start(given.get("t", given.get("start", [""]))[0])
    return f"https://www.youtube-nocookie.com/embed/{video}?autoplay=1{start}", "video"


def _start(moment: str) -> str:
    found = _SECONDS.fullmatch(moment)
    if not found or not moment:
        return ""
    hours, minutes, seconds = (int(each or 0) for each in found.groups())
    return f"&start={hours * 3600 + minutes * 60 + seconds}"


def _vimeo(parts: SplitResult) -> tuple[str, Look] | None:
    found = re.fullmatch(
        r"/(?:video/|channels/[\w-]+/|groups/[\w-]+/videos/)?(\d{4,14})(?:/([0-9a-f]{6,20}))?/?",
        parts.path,
        re.ASCII,
    )
    if not found:
        return None
    hidden = f"&h={found[2]}" if found[2] else ""
    return f"https://player.vimeo.com/video/{found[1]}?dnt=1&autoplay=1{hidden}", "video"


def _spotify(parts: SplitResult) -> tuple[str, Look] | None:
    found = re.fullmatch(
        r"/(?:intl-[a-z-]+/)?(?:embed/)?(track|album|playlist|artist|show|episode)/(\w{10,40})/?",
        parts.path,
        re.ASCII,
    )
    if not found:
        return None
    kind, number = found.groups()
    look: Look = "sound" if kind in ("track", "episode") else "album"
    return f"https://open.spotify.com/embed/{kind}/{number}", look


def _soundcloud(parts: SplitResult) -> tuple[str, Look] | None:
    if parts.hostname == "w.soundcloud.com":
        address = parse_qs(parts.query).get("url", [""])[0]
    else:
        address = f"https://soundcloud.com{parts.path}"
    if not re.match(r"https://(?:api\.)?soundcloud\.com/[\w%:-]+/[\w%:/-]+", address, re.ASCII):
        return None
    about = f"url={quote(address, safe='')}&auto_play=true&visual=false"
    return f"https://w.soundcloud.com/player/?{about}", "sound"


def _bluesky(parts: SplitResult) -> tuple[str, Look] | None:
    found = re.fullmatch(r"/profile/([\w.:-]{3,260})/post/(\w{5,30})/?", parts.path, re.ASCII)
    if not found:
        return None
    who, number = found.groups()
    return f"https://embed.bsky.app/embed/{who}/app.bsky.feed.post/{number}", "post"


def _peertube(parts: SplitResult) -> tuple[str, Look] | None:
    found = re.fullmatch(
        r"/(?:w|videos/watch|videos/embed)/([0-9A-Za-z]{22}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})/?",
        parts.path,
    )
    if not found:
        return None
    about = "?autoplay=1&warningTitle=0&p2p=0"
    return f"https://{parts.netloc}/videos/embed/{found[1]}{about}", "video"


def _mastodon(parts: SplitResult) -> tuple[str, Look] | None:
    found = re.fullmatch(r"/@[\w.-]{1,64}(?:@[\w.-]{1,200})?/(\d{10,25})/?", parts.path, re.ASCII)
    if not found:
        return None
    return f"https://{parts.netloc}{parts.path.rstrip('/')}/embed", "post"


_KNOWN: Final = (
    Provider(
        "YouTube",
        _youtube,
        ("youtube.com", "youtu.be", "youtube-nocookie.com", "music.youtube.com"),
        "https://www.youtube.com/oembed?format=json&url=",
    ),
    Provider(
        "Vimeo", _vimeo, ("vimeo.com", "player.vimeo.com"), "https://vimeo.com/api/oembed.json?url="
    ),
    Provider("Spotify", _spotify, ("open.spotify.com",), "https://open.spotify.com/oembed?url="),
    Provider(
        "SoundCloud",
        _soundcloud,
        ("soundcloud.com", "w.soundcloud.com"),
        "https://soundcloud.com/oembed?format=json&url=",
    ),
    Provider("Bluesky", _bluesky, ("bsky.app",)),
    Provider("PeerTube", _peertube),
    Provider("Mastodon", _mastodon),
)
_BY_NAME: Final = {each.name: each for each in _KNOWN}
_BY_HOST: Final = {host: each for each in _KNOWN for host in each.hosts}
_ANYWHERE: Final = tuple(each for each in _KNOWN if not each.hosts)
