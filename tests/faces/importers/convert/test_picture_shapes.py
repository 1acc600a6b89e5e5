"""Widths and crops of pictures in the forms of Ghost and WordPress."""

from __future__ import annotations

import json

import pytest

from masthead.faces.importers.convert.content import prepare
from masthead.faces.importers.convert.picture_shapes import with_shapes
from masthead.faces.importers.platforms.ghost.bodies import body_of
from masthead.faces.importers.source import SourcePost


@pytest.mark.parametrize(
    ("html", "shape"),
    [
        ('<figure class="kg-card kg-image-card kg-width-wide"><img src="/a"></figure>', "wide,"),
        ('<figure CLASS="kg-width-full x"><img src="/a"></figure>', "full,"),
        ("<figure class='wp-block-image alignwide size-large'><img src='/a'></figure>", "wide,"),
        (
            '<figure class="wp-block-image alignfull"><a href="/b"><img src="/a" '
            'style="aspect-ratio:16/9;object-fit:cover"/></a></figure>',
            "full,16:9",
        ),
        ('<figure class="x"><img style="aspect-ratio: 1; width:3px" src="/a"></figure>', ",1:1"),
        ('<figure class="x"><img style="aspect-ratio:7/5" src="/a"></figure>', ","),
        ('<figure class="wp-block-image alignleft"><img src="/a"></figure>', ","),
        ('<figure title="alignwide"><img src="/a"></figure>', ","),
        ("<figure><img src='/a'></figure>", ","),
    ],
)
def test_a_figure_keeps_its_shape(html: str, shape: str) -> None:
    width, _, crop = shape.partition(",")
    prepared = prepare(SourcePost("1", "post", "Title", html=html), "")
    assert prepared.content_json is not None
    [block] = prepared.content_json["content"]
    attributes = block.get("attrs", {})
    assert (attributes.get("layout", ""), attributes.get("crop", "")) == (width, crop)


def test_a_document_of_ghost_has_the_width_of_its_pictures() -> None:
    image = {"type": "image", "src": "/a.jpg", "cardWidth": "wide", "caption": "Sea"}
    html, _ = body_of({"lexical": json.dumps({"root": {"type": "root", "children": [image]}})})
    assert '<figure data-width="wide">' in html
    cards = [["image", {"src": "/a.jpg", "cardWidth": "full"}]]
    mobiledoc = {"version": "0.3.1", "cards": cards, "sections": [[10, 0]]}
    html, _ = body_of({"mobiledoc": json.dumps(mobiledoc)})
    assert '<figure data-width="full">' in html


@pytest.mark.parametrize(
    "html",
    ["<figure " * 20_000, "<figure class=" + "'a" * 50_000, "<figure class='x'><img " * 9_000],
)
def test_hostile_html_is_read_in_little_time(html: str) -> None:
    assert with_shapes(html) == html
