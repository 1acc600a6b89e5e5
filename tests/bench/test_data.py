"""The posts of the bench: the same everywhere, in the promised proportions."""

from __future__ import annotations

import hashlib
from itertools import islice

from bench import data


def test_the_posts_are_those_of_this_version() -> None:
    # A cached data set is found by the version, so other posts need another version.
    digest = hashlib.sha256(repr(list(islice(data.posts(), 1_000))).encode()).hexdigest()
    assert (data.VERSION, digest[:16]) == (1, "2c8d6dbca5917a51")


def test_of_ten_posts_of_a_tenant_eight_are_public() -> None:
    posts = [post for post in islice(data.posts(), 10 * data.TENANTS) if post.tenant == "t007"]
    assert len(posts) == 10
    assert sum(post.is_public for post in posts) == 8
    assert [post.published_at for post in posts if post.status == "draft"] == [None]
