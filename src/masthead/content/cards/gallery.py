"""Several pictures in rows, with one caption."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from masthead.content.cards.card import Block, Card, Imported, Platform, Values, Whole
from masthead.content.cards.elements import Parts, element, picture, root
from masthead.content.cards.platforms import block_comment, inline_text
from masthead.content.cards.values import WrongCard, filled, number_in, required, source_in, text_in
from masthead.content.html.markdown_text import escaped_text
from masthead.content.html.markup import Attributes

MOST: Final = 12
_LARGEST: Final = 100_000
_LONGEST_ALT: Final = 1_000


def read(given: Mapping[str, Any]) -> Values:
    images = given.get("images")
    if not isinstance(images, list) or not images:
        raise WrongCard("images must be a list of pictures.")
    if len(images) > MOST:
        raise WrongCard(f"A gallery has at most {MOST} pictures.")
    return filled(images=[_image(each) for each in images], caption=text_in(given, "caption"))


def _image(given: object) -> Values:
    if not isinstance(given, dict):
        raise WrongCard("images must be a list of pictures.")
    return filled(
        src=required("src", source_in(given, "src")),
        alt=text_in(given, "alt", _LONGEST_ALT),
        width=number_in(given, "width", _LARGEST),
        height=number_in(given, "height", _LARGEST),
    )


def opening(card: Values) -> str:
    return root("gallery", "figure") + _pictures(card) + _caption(card)


def _pictures(card: Values) -> str:
    return "".join(_picture(each) for each in card["images"])


def _picture(image: Values) -> str:
    sizes = image.get("width", 0), image.get("height", 0)
    return picture(image["src"], image.get("alt", ""), *sizes)


def _caption(card: Values) -> str:
    return element("figcaption", card.get("caption", ""))


def parse(parts: Parts) -> Values:
    return {"images": [*map(_parsed, parts.all("img"))], "caption": parts.text("figcaption")}


def _parsed(image: Attributes) -> Values:
    names = ("src", "alt", "width", "height")
    return {name: image[name] for name in names if image.get(name)}


def markdown(card: Values, _: str, whole: Whole) -> str:
    pictures = [
        f"![{escaped_text(each.get('alt', ''))}](<{whole(each['src'])}>)" for each in card["images"]
    ]
    return "\n\n".join(filter(None, (*pictures, escaped_text(card.get("caption", "")))))


def ghost(card: Values, _: str) -> str:
    pictures = "".join(
        f'<div class="kg-gallery-image">{_picture(each)}</div>' for each in card["images"]
    )
    return (
        '<figure class="kg-card kg-gallery-card kg-width-wide"><div class="kg-gallery-container">'
        f'<div class="kg-gallery-row">{pictures}</div></div>{_caption(card)}</figure>'
    )


def from_ghost(card: Mapping[str, Any]) -> Imported | None:
    given = card.get("images")
    images = [each for each in given if isinstance(each, dict)] if isinstance(given, list) else []
    return Imported({"images": images, "caption": inline_text(card, "caption")}) if images else None


def wordpress(card: Values, _: str) -> str:
    pictures = "\n".join(
        block_comment(
            "image", {}, f'<figure class="wp-block-image size-large">{_picture(each)}</figure>'
        )
        for each in card["images"]
    )
    classes = "blocks-gallery-caption wp-element-caption"
    caption = element("figcaption", card.get("caption", ""), {"class": classes})
    figure = '<figure class="wp-block-gallery has-nested-images columns-default is-cropped">'
    return block_comment("gallery", {"linkTo": "none"}, f"{figure}\n{pictures}\n{caption}</figure>")


def from_wordpress(block: Block) -> Imported | None:
    """The captions of single pictures and that of the whole, in their order."""
    captions = _captions(block.parts)
    images = [*map(_parsed, block.parts.all("img"))]
    return Imported({"images": images, "caption": " · ".join(captions)}) if images else None


def _captions(parts: Parts) -> Iterator[str]:
    for at, token in enumerate(parts.tokens):
        text = Parts(parts.tokens[at:]).text("figcaption") if token[1] == "figcaption" else ""
        if text and token.kind == "start":
            yield text


def galleries(images: Sequence[Mapping[str, Any]], caption: str = "") -> str:
    """The pictures of another platform, which may have more in one gallery. Without those that
    have no address that a page can load."""
    fit: list[Values] = []
    for each in images:
        try:
            fit.append(_image(dict(each)))
        except WrongCard:
            continue
    groups = [fit[at : at + MOST] for at in range(0, len(fit), MOST)]
    last = len(groups) - 1
    return "".join(
        CARD.made({"images": group, "caption": caption if at == last else ""})
        for at, group in enumerate(groups)
    )


CARD: Final = Card(
    name="gallery",
    tag="figure",
    read=read,
    opening=opening,
    parse=parse,
    markdown=markdown,
    ghost=Platform(ghost, from_ghost, ("gallery",)),
    wordpress=Platform(wordpress, from_wordpress, ("gallery",)),
)
