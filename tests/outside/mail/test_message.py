"""The composed message: no header injection, and text that every program reads."""

from __future__ import annotations

import base64
import re
from datetime import UTC, datetime
from email import message_from_bytes, message_from_string
from email.header import decode_header, make_header
from email.headerregistry import Address
from email.message import EmailMessage
from email.policy import compat32, default
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jinja2.meta import find_undeclared_variables

from masthead.base.email_address import is_email, normal_email
from masthead.features.mailings.stopped_email import mailing_stopped
from masthead.features.site.address import Site
from masthead.outside.mail.emails import EMAILS, write_email
from masthead.outside.mail.headers import field, one_line
from masthead.outside.mail.message import Mail, RenderedMail, compose
from masthead.outside.mail.rendering import FOLDER, render, templates

SENDER = Address("Masthead", addr_spec="no-reply@example.org")
WRITTEN = datetime(2026, 11, 14, 9, 30, tzinfo=UTC)
PLAIN = {
    "From",
    "To",
    "Subject",
    "Date",
    "Message-ID",
    "Auto-Submitted",
    "MIME-Version",
    "Content-Type",
}
SITE = Site("Die Zeitung", "https://zeitung.example.org")


def sent(**changes: Any) -> tuple[bytes, EmailMessage]:
    """An email as bytes, and as parsed by its receiver."""
    values = {"to": "reader@example.com", "subject": "Hello", "text": "Hi\n", "html": "<p>Hi</p>"}
    rendered = RenderedMail(**(values | changes))
    raw = compose(rendered, mail_id="abc", written=WRITTEN, sender=SENDER).content
    read = message_from_string(raw.decode(), policy=default)
    assert isinstance(read, EmailMessage)
    return raw, read


def body_of(message: EmailMessage, kind: str) -> str:
    part = message.get_body((kind,))
    assert part is not None
    content: str = part.get_content()
    return content


def test_the_parts_and_headers_of_a_mail() -> None:
    raw, mail = sent(to_name="Ana", reply_to="desk@example.org")
    assert mail["from"] == "Masthead <no-reply@example.org>"
    assert mail["to"] == "Ana <reader@example.com>"
    assert mail["reply-to"] == "desk@example.org"
    assert mail["message-id"] == "<abc@example.org>"
    assert mail["date"].datetime == WRITTEN
    assert mail["auto-submitted"] == "auto-generated"
    assert mail.get_content_type() == "multipart/alternative"
    assert [part.get_content_type() for part in mail.iter_parts()] == ["text/plain", "text/html"]
    assert raw.count(b"\n") == raw.count(b"\r\n")


def test_a_newsletter_has_one_click_unsubscribe() -> None:
    url = "https://demo.example.org/member/unsubscribe?email=" + "x" * 200 + "&token=" + "0" * 64
    raw, _ = sent(unsubscribe_url=url)
    assert f"\r\nList-Unsubscribe: <{url}>\r\n".encode() in raw
    assert b"\r\nList-Unsubscribe-Post: List-Unsubscribe=One-Click\r\n" in raw


def test_other_emails_have_no_unsubscribe_header() -> None:
    _, mail = sent()
    assert set(mail.keys()) == PLAIN


HOSTILE = "Eve\r\nBcc: victim@example.com\r\n\r\n<p>spam"


@pytest.mark.parametrize("name", ["subject", "to_name"])
def test_names_and_subjects_end_no_header(name: str) -> None:
    _, mail = sent(**{name: HOSTILE})
    assert set(mail.keys()) == PLAIN
    assert mail["bcc"] is None


@pytest.mark.parametrize("name", ["to", "reply_to"])
@pytest.mark.parametrize(
    "address",
    [
        "a@example.com\r\nBcc: b@example.com",
        "ö@example.com\r\nBcc: b@example.com",
        "ö\r\nBcc: b@example.com",
        "ö\u2028Bcc: b@example.com",
        "ö>, <b@example.com",
        "=?utf-8?q?b=40example.org=2c?=@example.com",
        "=?utf-8?q?x=0d=0aBcc:=20b=40example.org?=@example.com",
        "a@example.com, b@example.com",
        "a@b@c",
        "",
        "\n@x.y",
    ],
)
def test_an_invalid_address_is_refused(name: str, address: str) -> None:
    if (name, address) == ("reply_to", ""):
        return
    with pytest.raises(ValueError):
        sent(**{name: address})


ADDRESSES = [
    "ömil@example.com",
    "用户@xn--r8jz45g.example",
    "संपर्क@example.com",
    "é" * 64 + "@" + ".".join(["d" * 60] * 2),
    "x" * 64 + "@" + ".".join(["d" * 60] * 3),
    "a..b.@example.com",
]


@pytest.mark.parametrize("name", ["", "Zoë", 'O\'Hara, "Jr."', "☃" * 12, HOSTILE])
@pytest.mark.parametrize("address", ADDRESSES)
def test_any_address_arrives_as_it_was_written(address: str, name: str) -> None:
    raw, mail = sent(to=address, to_name=name, reply_to=address, subject=name or "Grüße")
    for header in (mail["to"], mail["reply-to"]):
        assert [each.addr_spec for each in header.addresses] == [address]
    assert mail["to"].addresses[0].display_name == one_line(name)
    assert mail["subject"] == one_line(name or "Grüße")
    assert set(mail.keys()) == PLAIN | {"Reply-To"}
    assert mail.defects == []
    head, _, body = raw.partition(b"\r\n\r\n")
    assert address.encode() in head
    assert head.isascii() is address.isascii()
    assert body.isascii()
    assert max(len(line) for line in raw.split(b"\r\n")) <= 998


LOCALS = st.text(min_size=1, max_size=64) | st.text("a.=?+'&`{|}~!#$%*/^_-", min_size=1, max_size=9)


@given(local=LOCALS, name=st.text(max_size=20))
def test_no_address_adds_to_the_headers(local: str, name: str) -> None:
    address = normal_email(f"{local}@example.com")
    if not is_email(address):
        with pytest.raises(ValueError):
            sent(to=address)
        return
    _, mail = sent(to=address, to_name=one_line(name))
    assert [each.addr_spec for each in mail["to"].addresses] == [address]
    assert set(mail.keys()) == PLAIN


def test_a_domain_in_another_script_needs_no_utf8_headers() -> None:
    raw, mail = sent(to="reader@MÜNCHEN.example")
    assert mail["to"] == "reader@xn--mnchen-3ya.example"
    assert raw.isascii()


def test_a_link_that_would_break_its_header_is_refused() -> None:
    with pytest.raises(ValueError):
        sent(unsubscribe_url="https://x.example/\r\nBcc: b@example.com")


@pytest.mark.parametrize(
    "name", ["Zoë", "王小明", 'O\'Hara, "Jr."', "☃" * 12, "a" * 300, "x@y.z <a@b.c>"]
)
def test_any_name_arrives_as_it_was_written(name: str) -> None:
    _, mail = sent(to_name=name, subject=name)
    assert mail["to"].addresses[0].display_name == name
    assert mail["to"].addresses[0].addr_spec == "reader@example.com"
    assert mail["subject"] == name


@given(text=st.text(st.characters(exclude_categories=["Cs"]), max_size=200))
def test_no_text_changes_the_recipient(text: str) -> None:
    raw, mail = sent(to_name=text, subject=text)
    assert [each.addr_spec for each in mail["to"].addresses] == ["reader@example.com"]
    assert set(mail.keys()) == PLAIN
    assert raw.isascii()


def decoded(raw: bytes, name: str) -> str:
    """A header parsed by RFC 2047: unfolded, its encoded words decoded once."""
    value = message_from_bytes(raw, policy=compat32)[name].replace("\r\n", "")
    return str(make_header(decode_header(value)))


def encoded_word(charset: str, kind: str, text: str) -> str:
    octets = text.encode()
    if kind.lower() == "b":
        return f"=?{charset}?{kind}?{base64.b64encode(octets).decode()}?="
    return f"=?{charset}?{kind}?{''.join(f'={each:02x}' for each in octets)}?="


INJECTED = st.sampled_from(
    ["\r\nBcc: eve@example.com", "\n\n<p>spam", "\rX: y", "\x00", "\u2028a: b"]
)
ENCODED_WORDS = st.builds(
    encoded_word,
    st.sampled_from(["utf-8", "UTF-8", "us-ascii", "iso-8859-1", "utf-7", "utf-16", "nosuch"]),
    st.sampled_from("qQbB"),
    st.text(max_size=8) | INJECTED,
)
FRAGMENTS = st.sampled_from(
    ["=?", "?=", "=?utf-8", "?q?", "=0d=0a", '"', "\\", "<", ">", ",", "\r\n", " ", "Zoë", "a"]
)
HOSTILE_NAMES = st.lists(ENCODED_WORDS | INJECTED | FRAGMENTS, max_size=12).map("".join)


@given(name=HOSTILE_NAMES, subject=HOSTILE_NAMES)
def test_an_encoded_word_in_a_name_is_not_decoded(name: str, subject: str) -> None:
    raw, mail = sent(to_name=name, subject=subject)
    head, _, _ = raw.partition(b"\r\n\r\n")
    fields = [line for line in head.split(b"\r\n") if not line.startswith(b" ")]
    assert [line.partition(b":")[0].decode() for line in fields] == [
        "From",
        "To",
        "Subject",
        "Date",
        "Message-ID",
        "Auto-Submitted",
        "MIME-Version",
        "Content-Type",
    ]
    assert set(mail.keys()) == PLAIN
    assert [each.addr_spec for each in mail["to"].addresses] == ["reader@example.com"]
    assert decoded(raw, "subject") == one_line(subject)
    shown, address = one_line(name), "reader@example.com"
    assert decoded(raw, "to") == (f"{shown} <{address}>" if shown else address)
    assert body_of(mail, "plain").strip() == "Hi"


@pytest.mark.parametrize("part", ["\r", "\n", "\r\n", "\r\n\r\n ", "\n ", "\x00", "\x7f"])
def test_a_header_with_a_line_break_is_refused(part: str) -> None:
    with pytest.raises(ValueError, match="Subject would hold a line break"):
        field("Subject", f"a{part}b")


def test_long_lines_and_every_script_travel_in_seven_bits() -> None:
    text = "Grüße, 世界 " * 400 + "\n.\nFrom here\n"
    raw, mail = sent(text=text, html=f"<p>{text}</p>")
    assert raw.isascii()
    assert max(len(line) for line in raw.split(b"\r\n")) <= 998
    assert body_of(mail, "plain").replace("\r\n", "\n") == text
    assert "世界" in body_of(mail, "html")


def test_one_line() -> None:
    assert one_line(" a\r\n\tb\x00\x1b[31m\u2028c ") == "a b [31m c"
    assert one_line("\u202e a \u2068b\u2069") == "a \u2068b\u2069"


EVE, LINK = "<b>Eve</b>", "https://x.example/?token=a&b=<"
STOPPED = {
    "id": "aaaaaaaaaaaaaaa",
    "subject": EVE,
    "reason": f"The mail server said {EVE}.",
    "failed": 3,
    "bounced": 3,
    "recipients": 5_000,
}
WHOLE_SITE = {"whole_site": True, "name": EVE}
MAILS: list[Mail] = [
    *(
        write_email(template, SITE, "me@example.com", **values)
        for template, values in (
            ("confirm_email", {"link": LINK}),
            ("confirm_sign_up", {"link": LINK, "code": "123456"}),
            ("already_member", {"link": LINK, "code": "123456"}),
            ("sign_in", {"link": LINK, "code": "123456"}),
            ("verify_email", {"link": LINK}),
            ("staff_code", {"code": "123456"}),
            ("invitation", {"by": EVE, "role": "author", "link": LINK, "days": 7}),
            ("factors_changed", {"what": f"{EVE} was here."}),
            ("new_browser", {"browser": EVE, "address": "192.0.2.1"}),
            ("email_in_use", {}),
            ("site_suspended", {"reason": EVE, "link": LINK}),
            ("test_mail", {}),
            ("email_changed", {"name": EVE, "new_email": "new@example.com"}),
            ("reset_password", {"link": LINK, "minutes": 15}),
            ("welcome_paid", {"name": EVE, "link": LINK}),
            *(
                (
                    name,
                    {"tier": EVE, "months": 3, "buyer": "ana@example.com"}
                    | {"code": "7QXK-4M2P-J0VA-9RTE", "link": LINK},
                )
                for name in ("gift_given", "gift_bought")
            ),
            (
                "webhook_disabled",
                {"webhook_name": EVE, "receiver": "x.example", "webhook_url": LINK, "failures": 9},
            ),
            *(
                (name, {"title": EVE, "short_title": EVE, "by": EVE, "note": EVE, "link": LINK})
                for name in ("post_ready", "post_sent_back")
            ),
            (
                "site_export",
                {"subject": "Die Zeitung", "format": "CSV", "is_ready": True, "until": "then"}
                | {"error": "", "link": LINK, "name": EVE},
            ),
            ("privacy_export_ready", {**WHOLE_SITE, "link": LINK, "until": "then"}),
            (
                "privacy_deletion",
                {**WHOLE_SITE, "subject": "Die Zeitung", "until": "then"}
                | {"confirm_link": "", "cancel_link": LINK},
            ),
            (
                "privacy_receipt",
                {**WHOLE_SITE, "subject": "Die Zeitung", "request_id": "abc"}
                | {"erased": [EVE], "kept": []},
            ),
        )
    ),
    *(
        write_email(
            "domain_unproven",
            SITE,
            "me@example.com",
            subject="Die Zeitung",
            domain="blog.example.com",
            record_name="_masthead.blog.example.com",
            record_value=EVE,
            ends=ends,
        )
        for ends in ("1 December 2026", "")
    ),
    *(
        mailing_stopped({**STOPPED, "status": status, "sent": sent}, SITE, "owner@example.com")
        for status, sent in (("paused", 60), ("failed", 0), ("failed", 20))
    ),
]


@pytest.mark.parametrize("mail", MAILS, ids=lambda mail: mail.template)
def test_every_mail_says_the_same_in_text_and_in_html(mail: Mail) -> None:
    rendered = render(mail)
    assert "Die Zeitung" in rendered.subject
    for part in (rendered.text, rendered.html):
        assert "Die Zeitung" in part
        assert SITE.url in part
    assert "<b>Eve" not in rendered.html
    assert rendered.html.lstrip().lower().startswith("<!doctype html>")
    assert "\n\n\n" not in rendered.text
    if "link" in mail.values:
        assert mail.values["link"] in rendered.text
        assert 'href="https://x.example/?token=a&amp;b=&lt;"' in rendered.html


def test_every_email_has_a_row_and_a_template() -> None:
    assert {*EMAILS, "base", "parts"} == {path.stem for path in FOLDER.glob("*.html")}
    of_comments = {"comment_posted", "comment_answered"}
    assert set(EMAILS) - of_comments == {mail.template for mail in MAILS}


def test_an_unsubscribe_link_is_in_both_parts() -> None:
    mail = write_email("email_in_use", SITE, "a@example.com", unsubscribe_url="https://u.x")
    rendered = render(mail)
    assert "Unsubscribe: https://u.x" in rendered.text
    assert 'href="https://u.x"' in rendered.html


@pytest.mark.parametrize("template", EMAILS)
def test_no_value_of_any_mail_is_markup(template: str) -> None:
    """Also in the branches that show something where a value is empty."""
    source = "".join((FOLDER / f"{each}.html").read_text() for each in ("base", template))
    source = re.sub(r"{% extends [^%]*%}|{% (?:end)?block[^%]*%}", "", source)
    names = find_undeclared_variables(templates("html").parse(source)) - {"base", "parts"}
    eve = {name: 2 if name in NUMBERS else "<b>Eve</b>" for name in names}
    for empty in ("", *re.findall(r"{% (?:el)?if (\w+)", source)):
        values = {name: "" if name == empty else value for name, value in eve.items()}
        html = render(Mail(template, "me@example.com", "<b>Eve</b>", values)).html
        assert "&lt;b&gt;Eve" in html
        assert "<b>Eve" not in html


NUMBERS = {"minutes", "hours", "days", "months", "failures", "recipients", "sent"}


def test_an_email_in_arabic_runs_from_right_to_left() -> None:
    """Mail programs know no logical properties."""
    values = {"author": "Ada", "text": "Well", "own": "So", "title": "T", "short_title": "T"}
    site = Site("الميناء", "https://zeitung.example.org", "ar")
    html = render(write_email("comment_answered", site, "a@b.example", link="x", **values)).html
    assert '<html lang="ar" dir="rtl">' in html
    assert "border-right: 3px" in html
    assert "-inline-start" not in html
