"""Names of stored files: as PocketBase makes them, and safe as a key, in a URL and in a header."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from masthead.features.media.filenames import (
    MAX_DISPLAY_NAME,
    display_name,
    snake_case,
    stored_name,
)


@pytest.mark.parametrize(
    ("filename", "content_type", "pattern"),
    [
        ("Hello World.txt", "text/plain", r"hello_world_\w{10}\.txt"),
        ("a b.txt", "", r"a_b_\w{10}\.txt"),
        ("c.txt", "", r"c\w{10}_\w{10}\.txt"),
        ("", "", r"\w{10}_\w{10}"),
        ("", "image/png", r"\w{10}_\w{10}\.png"),
        ("photo", "image/jpeg", r"photo_\w{10}\.jpg"),
        ("photo", "application/unknown", r"photo_\w{10}"),
        ("photo.", "image/jpeg", r"photo_\w{10}\.jpg"),
        ("photo.JPEG", "image/png", r"photo_\w{10}\.jpeg"),
        ("backup.tar.gz", "", r"backup_\w{10}\.tar\.gz"),
        ("v1.2.pdf", "", r"v1_2_\w{10}\.pdf"),
        ("../../etc/passwd", "", r"passwd_\w{10}"),
        (r"C:\Users\me\Photo 1.png", "", r"photo_1_\w{10}\.png"),
        (".htaccess", "", r"\w{10}_\w{10}\.htaccess"),
        ("....", "", r"\w{10}_\w{10}"),
        ("Ünïcödé 東京.png", "", r"unicode_dong_?jing_\w{10}\.png"),
        ("invoice\u202egpj.exe", "", r"invoicegpj_\w{10}\.exe"),
        ("a\0b\r\nc\u200b.t\nxt", "", r"abc_\w{10}\.txt"),
        ("x" * 5000 + ".png", "", r"x{100}_\w{10}\.png"),
        ("name." + "y" * 500, "", r"name_\w{10}\.y{20}"),
    ],
)
def test_names(filename: str, content_type: str, pattern: str) -> None:
    assert re.fullmatch(pattern, stored_name(filename, content_type))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Hello World", "hello_world"),
        ("helloWorld", "hello_world"),
        ("  a--b__c  ", "a_b_c"),
        ("HTML", "html"),
        ("Straße", "strasse"),
        ("", ""),
    ],
)
def test_snake_case(text: str, expected: str) -> None:
    assert snake_case(text) == expected


def test_the_same_name_twice_gives_two_names() -> None:
    assert len({stored_name("a.png") for _ in range(100)}) == 100


@given(st.text(max_size=300), st.sampled_from(["", "image/png", "text/plain; charset=utf-8"]))
def test_any_name_becomes_a_safe_one(filename: str, content_type: str) -> None:
    name = stored_name(filename, content_type)
    assert re.fullmatch(r"[a-z0-9][a-z0-9_]*_[a-z0-9]{10}(\.[a-z0-9]+)*", name)
    assert len(name) <= 140


@pytest.mark.parametrize(
    ("filename", "expected"),
    [
        ("cat.png", "cat.png"),
        ("C:\\fakepath\\cat.png", "cat.png"),
        ("../../cat.png ", "cat.png"),
        ("Grüße ✉.png", "Grüße ✉.png"),
        ("gpj.\u202eexe", "gpj.exe"),
        ("a\0b.png", "ab.png"),
        ("x" * 300 + ".tar.gz", "x" * 248 + ".tar.gz"),
        ("x" * 300, "x" * MAX_DISPLAY_NAME),
        ("x." + "y" * 300, "x." + "y" * 20),
        ("/", ""),
        ("", ""),
    ],
)
def test_the_display_name_is_the_clients_without_folders(filename: str, expected: str) -> None:
    assert display_name(filename) == expected
