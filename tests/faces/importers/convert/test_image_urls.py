"""Which picture an address stands for."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from masthead.faces.importers.convert.image_urls import (
    MAX_CANDIDATES,
    file_name,
    find_pictures,
    original_of,
    picture_key,
)

SITE = "https://old.example.com"
UPLOADS = f"{SITE}/wp-content/uploads/2023/05"
S3 = "https://substack-post-media.s3.amazonaws.com/public/images/5d8f_1200x630.png"
BUCKETEER = "https://bucketeer-1a2b.s3.amazonaws.com/public/images/5d8f.jpeg"


@pytest.mark.parametrize(
    ("url", "original"),
    [
        # Sizes of a blog's uploads.
        (f"{UPLOADS}/a-300x200.jpg", f"{UPLOADS}/a.jpg"),
        (f"{UPLOADS}/a-1536x1024.JPG", f"{UPLOADS}/a.JPG"),
        (f"{UPLOADS}/a-scaled.jpg", f"{UPLOADS}/a.jpg"),
        (f"{UPLOADS}/a-rotated.jpg", f"{UPLOADS}/a.jpg"),
        (f"{UPLOADS}/a-scaled-300x200.jpg", f"{UPLOADS}/a.jpg"),
        (f"{UPLOADS}/a.png?resize=300%2C200&ssl=1", f"{UPLOADS}/a.png"),
        (f"{UPLOADS}/a.png?ver=2&w=604", f"{UPLOADS}/a.png?ver=2"),
        (
            "https://x.files.wordpress.com/2013/03/a.jpg?w=604",
            "https://x.files.wordpress.com/2013/03/a.jpg",
        ),
        # An edited picture is one of its own.
        (f"{UPLOADS}/a-e1612345678901-300x225.jpg", f"{UPLOADS}/a-e1612345678901.jpg"),
        # Names that only look like sizes.
        (f"{UPLOADS}/name-2x4-inside.jpg", f"{UPLOADS}/name-2x4-inside.jpg"),
        (f"{UPLOADS}/board-2x4.jpg", f"{UPLOADS}/board-2x4.jpg"),
        (f"{UPLOADS}/-300x200.jpg", f"{UPLOADS}/-300x200.jpg"),
        (f"{UPLOADS}/paper-300x200.pdf", f"{UPLOADS}/paper-300x200.pdf"),
        (f"{SITE}/elsewhere/a-300x200.jpg", f"{SITE}/elsewhere/a-300x200.jpg"),
        (f"{SITE}/files/2012/05/a-150x150.jpg", f"{SITE}/files/2012/05/a.jpg"),
        (f"{SITE}/uploads/sites/3/2012/05/a-150x150.jpg", f"{SITE}/uploads/sites/3/2012/05/a.jpg"),
        # Photon, and a size behind it.
        (
            "https://i0.wp.com/old.example.com/wp-content/uploads/a-300x200.jpg?fit=640%2C480&ssl=1",
            f"{SITE}/wp-content/uploads/a.jpg",
        ),
        ("https://i2.wp.com/b.example/pic.jpg?resize=1,2", "http://b.example/pic.jpg"),
        ("https://i3.wp.com/b.example/pic?q=id%3D7&ssl=1", "https://b.example/pic?id=7"),
        ("https://i0.wp.com/justhost", "https://i0.wp.com/justhost"),
        ("https://s0.wp.com/latex.php?latex=x", "https://s0.wp.com/latex.php?latex=x"),
        # The newsletter's wrappers, of both generations and nested.
        (
            "https://substackcdn.com/image/fetch/$s_!Ab1c!,w_1456,c_limit,f_auto,q_auto:good,"
            "fl_progressive:steep/https%3A%2F%2Fsubstack-post-media.s3.amazonaws.com%2Fpublic"
            "%2Fimages%2F5d8f_1200x630.png",
            S3,
        ),
        (
            "https://cdn.substack.com/image/fetch/w_1456,c_limit,f_auto,q_auto:good/"
            "https%3A%2F%2Fbucketeer-1a2b.s3.amazonaws.com%2Fpublic%2Fimages%2F5d8f.jpeg",
            BUCKETEER,
        ),
        (f"https://cdn.substack.com/image/fetch/w_1456/{BUCKETEER}", BUCKETEER),
        (
            "https://substackcdn.com/image/fetch/w_848/https%253A%252F%252Fa.example%252Fb.png",
            "https://a.example/b.png",
        ),
        (
            "https://substackcdn.com/image/fetch/w_848/https%3A%2F%2Fcdn.substack.com%2Fimage"
            "%2Ffetch%2Fw_1%2Fhttps%253A%252F%252Fa.example%252Fb.png",
            "https://a.example/b.png",
        ),
        (
            "https://substackcdn.com/image/fetch/w_848/nothing",
            "https://substackcdn.com/image/fetch/w_848/nothing",
        ),
        (S3, S3),
        # Sizes and formats of the publishing platform.
        (
            "https://g.example/content/images/size/w600/2024/05/x.jpg",
            "https://g.example/content/images/2024/05/x.jpg",
        ),
        (
            "https://g.example/blog/content/images/size/w600h400/format/webp/2024/05/x.jpg",
            "https://g.example/blog/content/images/2024/05/x.jpg",
        ),
        (
            "https://images.unsplash.com/photo-1?crop=entropy&fit=max&w=600",
            "https://images.unsplash.com/photo-1?crop=entropy&fit=max&w=2000",
        ),
        # Relative to the site.
        ("/wp-content/uploads/a.jpg", f"{SITE}/wp-content/uploads/a.jpg"),
        ("wp-content/uploads/a.jpg", f"{SITE}/wp-content/uploads/a.jpg"),
        ("//old.example.com/a.jpg", f"{SITE}/a.jpg"),
        ("//cdn.example/a.jpg", "https://cdn.example/a.jpg"),
        # One spelling for all.
        (" HTTPS://Old.Example.Com:443/a.jpg#top ", f"{SITE}/a.jpg"),
        ("http://old.example.com/a.jpg", f"{SITE}/a.jpg"),
        ("http://other.example/a.jpg", "http://other.example/a.jpg"),
        (f"{SITE}/ümläut file.png", f"{SITE}/%C3%BCml%C3%A4ut%20file.png"),
        (f"{SITE}/%c3%bcml%c3%a4ut%20file.png", f"{SITE}/%C3%BCml%C3%A4ut%20file.png"),
        ("https://a.exa\nmple/b.png", "https://a.example/b.png"),
        ("http://[::1]:80/x.png", "http://[::1]/x.png"),
        # Kept, so that the refusal is told.
        ("http://user:secret@a.example/x.png", "http://user:secret@a.example/x.png"),
        ("http://a.example:99999/x.png", "http://a.example:99999/x.png"),
        ("data:image/gif;base64,R0lGODlhAQAB", "data:image/gif;base64,R0lGODlhAQAB"),
        # No pictures.
        ("data:text/html,<p>", ""),
        ("javascript:alert(1)", ""),
        ("file:///etc/passwd", ""),
        ("blob:https://a.example/1", ""),
        ("#top", ""),
        ("", ""),
        (f"https://a.example/{'x' * 9_000}.png", ""),
    ],
)
def test_the_original(url: str, original: str) -> None:
    assert original_of(url, SITE) == original
    if original:
        assert original_of(original, SITE) == original


def test_a_relative_address_of_an_unknown_site_names_itself() -> None:
    (picture,) = find_pictures(["/content/images/a.png"], "")
    assert (picture.original_url, picture.candidates) == ("/content/images/a.png", ())


def test_all_sizes_are_one_picture_and_the_largest_follows_the_original() -> None:
    urls = [f"{UPLOADS}/a-{size}.jpg" for size in ("300x200", "1024x683", "150x150")]
    (picture,) = find_pictures([*urls, urls[0]], SITE, "7")
    assert picture.original_url == f"{UPLOADS}/a.jpg"
    assert picture.urls == tuple(urls)
    assert picture.source_id == "7"
    assert picture.candidates[:2] == (f"{UPLOADS}/a.jpg", f"{UPLOADS}/a-1024x683.jpg")


def test_candidates_go_from_the_original_to_the_address_as_it_stands() -> None:
    wrapped = "https://i0.wp.com/old.example.com/wp-content/a-300x200.jpg?ssl=1"
    (picture,) = find_pictures([wrapped], SITE)
    assert picture.candidates == (
        f"{SITE}/wp-content/a.jpg",
        wrapped,
        f"{SITE}/wp-content/a-300x200.jpg",
    )


def test_a_picture_of_many_sizes_is_not_asked_for_all_day() -> None:
    urls = [f"{UPLOADS}/a-{size}x{size}.jpg" for size in range(100, 200)]
    (picture,) = find_pictures(urls, SITE)
    assert len(picture.urls) == 100
    assert len(picture.candidates) == MAX_CANDIDATES


def test_a_size_beside_its_original_is_the_same_picture_in_any_folder() -> None:
    sizes = [f"{SITE}/pictures/a-150x150.png", f"{SITE}/pictures/a-scaled.png"]
    full, other = f"{SITE}/pictures/a.png", f"{SITE}/pictures/b-150x150.png"
    found = find_pictures([sizes[0], other, full, sizes[1]], SITE)
    assert [(picture.original_url, picture.urls) for picture in found] == [
        (full, (sizes[0], full, sizes[1])),
        (other, (other,)),
    ]


def test_the_name_of_a_file() -> None:
    assert file_name(f"{SITE}/2024/sp%20ace.png?x=/y.jpg") == "sp ace.png"
    assert file_name(f"{SITE}/") == ""


def test_keys_are_short_and_differ() -> None:
    keys = {picture_key(url) for url in (f"{SITE}/a.png", f"{SITE}/b.png", "data:image/png;\udcff")}
    assert {len(key) for key in keys} == {64}
    assert len(keys) == 3


@given(st.text(), st.sampled_from([SITE, "", "http://127.0.0.1:8000", "not a site"]))
def test_no_text_is_too_odd(url: str, site: str) -> None:
    original = original_of(url, site)
    assert original_of(original, site) == original
    for picture in find_pictures([url], site):
        assert picture.urls == (url,)


_PARTS = (
    "https:// http: // / i0.wp.com/ substackcdn.com/image/fetch/w_1,c_2/ %2F %3A https%3A%2F%2F"
    " a.example wp-content/ x-300x200.jpg ?w=1 [ ] :80 @ ü"
)


@given(st.lists(st.sampled_from(_PARTS.split(" ")), max_size=8).map("".join))
def test_finding_the_original_ends_at_the_original(url: str) -> None:
    original = original_of(url, SITE)
    assert original_of(original, SITE) == original
