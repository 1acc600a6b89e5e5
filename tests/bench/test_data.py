"""The posts of the bench: the same everywhere, in the promised proportions."""

from __future__ import annotations

import hashlib
from itertools import islice

from bench.data import Content

from bench import data


def test_the_posts_are_those_of_this_version() -> None:
    # A cached data set is found by the version, so other posts need another version.
    digest = hashlib.sha256(repr(list(islice(Content(50, 50_000), 1_000))).encode()).hexdigest()
    assert (data.VERSION, digest[:16]) == (2, "e7c1f88be2d59118")


def test_of_ten_posts_of_a_site_eight_are_public() -> None:
    content = Content(10, 100)
    posts = content.by_site["t007"]
    assert len(posts) == 10
    assert len(content.public["t007"]) == 8
    assert [post.published_at for post in posts if post.status == "draft"] == [""]
    assert posts == sorted(posts, key=lambda post: post.created, reverse=True)
