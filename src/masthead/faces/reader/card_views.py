"""Cards as a page shows them, where that is more than their element: galleries in rows, players
that load at a press, an author's HTML in a frame of its own."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from typing import Final
from urllib.parse import quote

import msgspec

from masthead.base.languages.words import words
from masthead.content.cards.bookmark import host_of
from masthead.content.cards.card import Values
from masthead.content.cards.elements import element, picture, plain, root
from masthead.content.cards.join import ADDRESS
from masthead.content.cards.providers import player_of
from masthead.content.html.markup import Attributes, written

MAX_FRAMES: Final = 20
"""The most sites whose frames a page has. The players of others stay links."""
_HTML_SANDBOX: Final = "allow-scripts allow-forms allow-popups allow-popups-to-escape-sandbox"
# With its own origin, which its storage needs; that is never ours.
_PLAYER_SANDBOX: Final = "allow-scripts allow-same-origin allow-popups allow-presentation"
_PLAYER_MAY: Final = "autoplay; encrypted-media; fullscreen; picture-in-picture"
_IN_A_ROW: Final = 3

Image = Callable[[Values, str, float], str]
"""The HTML of a picture of a gallery, with a class, and its share of the row's width."""


class Frames(msgspec.Struct):
    """The values that frames of a page need. Empty in previews, whose own frame runs no script."""

    player_styles: Sequence[str] = ()
    """The addresses of the style sheets of a player that has not been pressed yet."""
    html_cards: str = ""
    """The beginning of the addresses of this text's own HTML."""
    back: str = ""
    """The path of the page."""
    joins: bool = True
    """Its readers can join."""
    origins: set[str] = msgspec.field(default_factory=set)
    """The sites whose frames the page has."""


def gallery(card: Values, image: Image) -> str:
    rows = "".join(f'<div class="mh-row">{_row(each, image)}</div>' for each in _rows(card))
    caption = element("figcaption", card.get("caption", ""))
    return f"{root('gallery', 'figure')}{rows}{caption}</figure>"


def _rows(card: Values) -> list[Sequence[Values]]:
    """Rows of at most three, as equal as possible, the longer ones first."""
    images: Sequence[Values] = card["images"]
    number = -(-len(images) // _IN_A_ROW)
    rows: list[Sequence[Values]] = []
    at = 0
    for left in range(number, 0, -1):
        length = -(-(len(images) - at) // left)
        rows.append(images[at : at + length])
        at += length
    return rows


def _row(images: Sequence[Values], image: Image) -> str:
    ratios = [_ratio(each) for each in images]
    return "".join(
        image(each, f"ratio-{ratio}", ratio / sum(ratios))
        for each, ratio in zip(images, ratios, strict=True)
    )


def _ratio(image: Values) -> int:
    """In tenths of the height, as the classes of the style sheet."""
    width, height = image.get("width", 0), image.get("height", 0)
    return min(40, max(3, round(10 * width / height))) if width and height else 15


def bookmark(card: Values, image: str) -> str:
    title = element("strong", card.get("title") or card["url"])
    about = element("span", card.get("description", ""))
    host = element("small", host_of(card["url"]))
    link = written("a", {"href": card["url"], "rel": "noopener"})
    return (
        f"{root('bookmark', 'figure')}{link}{image}{title}</a>"
        f"<figcaption>{about}{host}</figcaption></figure>"
    )


def embed(card: Values, frames: Frames) -> str:
    """The still picture is in the frame, and links to the player: a press needs no script, and
    nothing is asked of the other site before it."""
    player = player_of(card["url"]) if frames.player_styles else None
    title = card.get("title") or card["url"]
    link = f"{written('a', {'href': card['url'], 'rel': 'noopener'})}"
    if player is None or (
        player.origin not in frames.origins and len(frames.origins) >= MAX_FRAMES
    ):
        where = card.get("provider") or host_of(card["url"])
        still = picture(card.get("image", ""))
        return (
            f"{root('embed', 'figure')}{link}{still}{element('strong', title)}</a>"
            f"<figcaption>{plain(where)}</figcaption></figure>"
        )
    frames.origins.add(player.origin)
    still = picture(card.get("image", ""))
    start = written("a", {"href": player.address})
    sign = words("Show the post") if player.look == "post" else words("Play")
    styles = "".join(
        written("link", {"rel": "stylesheet", "href": each}) for each in frames.player_styles
    )
    source = (
        '<!doctype html><meta charset="utf-8"><meta name="color-scheme" content="light dark">'
        f"<title>{plain(title)}</title>"
        f"{styles}"
        f"{start}{still}<span><b>{plain(str(sign))}</b> <i>{plain(player.provider)}</i></span></a>"
    )
    frame = written(
        "iframe",
        {
            "class": f"mh-frame mh-{player.look}",
            "srcdoc": source,
            "title": title,
            "sandbox": _PLAYER_SANDBOX,
            "allow": _PLAYER_MAY,
            "loading": "lazy",
        },
    )
    about = f"{link}{plain(title)}</a> {element('small', player.provider)}"
    return f"{root('embed', 'figure')}{frame}</iframe><figcaption>{about}</figcaption></figure>"


def html(card: Values, fallback: str, frames: Frames) -> str:
    """`fallback`: the words of the card, for where there is no frame."""
    if not frames.html_cards:
        return f"{root('html', 'div')}{fallback}</div>"
    about = {
        "class": "mh-frame mh-own",
        "src": f"{frames.html_cards}{digest_of(card['html'])}",
        "title": str(words("Embedded content")),
        "sandbox": _HTML_SANDBOX,
        "loading": "lazy",
    }
    return f"{root('html', 'div')}{written('iframe', about)}</iframe></div>"


def digest_of(source: str) -> str:
    """Names the HTML of a card in an address."""
    return hashlib.sha256(source.encode("utf-8", "replace")).hexdigest()[:16]


def join(card: Values, frames: Frames) -> str:
    """Nothing for members, and where nobody can join."""
    if not frames.joins:
        return ""
    back = f"?back={quote(frames.back)}" if frames.back else ""
    link = written("a", {"href": ADDRESS + back})
    return f"{root('join', 'p')}{link}{plain(card['label'])}</a></p>"


def framed(source: str) -> str:
    """The page in the frame of an author's own HTML."""
    return (
        '<!doctype html><html><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width"><base target="_blank">'
        "<style>body{margin:1rem;font:16px/1.5 system-ui,sans-serif}img{max-width:100%}</style>"
        f"</head><body>{source}</body></html>"
    )


FRAME_POLICY: Final = (
    "sandbox allow-scripts allow-forms allow-popups allow-popups-to-escape-sandbox; "
    "default-src https: data: blob: 'unsafe-inline' 'unsafe-eval'; base-uri 'none'; "
    "frame-ancestors 'self'"
)
"""The policy of that page. Its origin is its own even if it is opened by itself, so it reaches
nothing of the site."""


def attributes_of(name: str, image: Values) -> Attributes:
    sizes: Attributes = {key: str(image[key]) for key in ("width", "height") if key in image}
    return {"src": image["src"], "alt": image.get("alt", ""), **sizes, "class": name}
