"""Emails are sent to a real SMTP server, over verified TLS."""

from __future__ import annotations

import ssl
from datetime import UTC, datetime
from email.headerregistry import Address
from pathlib import Path

import aiosmtplib
import pytest
from tests.outside.mail.postbox import PASSWORD, USER, Postbox
from tests.tls import Authority, untrusted_certificate

from masthead.base.config.values import Secret, SmtpSecurity, SmtpServer
from masthead.outside.mail.message import ComposedMail, RenderedMail, compose
from masthead.outside.mail.smtp import AsciiOnly, NoSuchMailbox, SmtpTransport


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority"))


def rendered(to: str = "reader@example.com") -> ComposedMail:
    return compose(
        RenderedMail(to=to, subject="Hello", text="Hello\n", html="<p>Hello</p>"),
        mail_id="abc",
        written=datetime(2026, 11, 14, tzinfo=UTC),
        sender=Address("Masthead", addr_spec="no-reply@example.org"),
    )


def road_to(
    postbox: Postbox, ca_file: Path | None = None, user: str = "", password: str = ""
) -> SmtpTransport:
    server = SmtpServer(
        "127.0.0.1",
        postbox.port,
        SmtpSecurity(postbox.security),
        user or None,
        Secret(password) if password else None,
    )
    return SmtpTransport(server, ca_file, "localhost", timeout_seconds=10)


@pytest.mark.parametrize("security", ["plain", "starttls", "tls"])
async def test_a_mail_arrives(authority: Authority, security: str) -> None:
    async with Postbox(security, authority.certificate()) as postbox:
        await road_to(postbox, authority.ca_file).send("abc", rendered())
        (envelope,) = postbox.envelopes
        assert envelope.mail_from == "no-reply@example.org"
        assert envelope.rcpt_tos == ["reader@example.com"]
        assert postbox.letters[0]["subject"] == "Hello"
        assert postbox.was_secure == [security != "plain"]


@pytest.mark.parametrize("security", ["starttls", "tls"])
async def test_a_certificate_is_checked(authority: Authority, security: str) -> None:
    for certificate in (
        untrusted_certificate(),
        authority.expired_certificate(),
        authority.certificate_of_another_host(),
    ):
        async with Postbox(security, certificate) as postbox:
            with pytest.raises((aiosmtplib.SMTPException, ssl.SSLError)):
                await road_to(postbox, authority.ca_file).send("abc", rendered())
            assert postbox.letters == []


async def test_a_server_without_required_starttls_gets_no_email() -> None:
    async with Postbox("plain") as postbox:
        server = SmtpServer("127.0.0.1", postbox.port, SmtpSecurity.STARTTLS)
        with pytest.raises(aiosmtplib.SMTPException):
            await SmtpTransport(server, None, "localhost").send("abc", rendered())
        assert postbox.letters == []


async def test_a_server_that_requires_a_login(authority: Authority) -> None:
    async with Postbox("starttls", authority.certificate(), needs_login=True) as postbox:
        with pytest.raises(aiosmtplib.SMTPAuthenticationError):
            await road_to(postbox, authority.ca_file, USER, "wrong").send("abc", rendered())
        await road_to(postbox, authority.ca_file, USER, PASSWORD).send("abc", rendered())
        assert len(postbox.letters) == 1


async def test_only_an_unknown_mailbox_is_permanent() -> None:
    async with Postbox() as postbox:
        road = road_to(postbox)
        postbox.refusals.append("550 5.1.1 No such user here")
        with pytest.raises(NoSuchMailbox):
            await road.send("abc", rendered())
        for refusal in ("450 4.2.1 Try later", "554 5.7.1 Relay access denied", "550 No"):
            postbox.refusals.append(refusal)
            with pytest.raises(aiosmtplib.SMTPRecipientsRefused):
                await road.send("abc", rendered())
        await road.send("abc", rendered())
        assert len(postbox.letters) == 1


class TestBeyondAscii:
    async def test_it_is_sent_to_a_server_with_smtputf8(self, authority: Authority) -> None:
        async with Postbox("starttls", authority.certificate(), takes_utf8=True) as postbox:
            await road_to(postbox, authority.ca_file).send("abc", rendered("ömil@münchen.example"))
            (envelope,) = postbox.envelopes
            assert envelope.rcpt_tos == ["ömil@xn--mnchen-3ya.example"]
            assert envelope.smtp_utf8
            assert "BODY=8BITMIME" in envelope.mail_options
            assert postbox.letters[0]["to"] == "ömil@xn--mnchen-3ya.example"

    async def test_an_ascii_address_needs_no_smtputf8(self) -> None:
        for takes_utf8 in (False, True):
            async with Postbox(takes_utf8=takes_utf8) as postbox:
                await road_to(postbox).send("abc", rendered("omil@münchen.example"))
                (envelope,) = postbox.envelopes
                assert envelope.rcpt_tos == ["omil@xn--mnchen-3ya.example"]
                assert not envelope.smtp_utf8

    async def test_a_server_without_smtputf8_is_not_retried(self) -> None:
        async with Postbox() as postbox:
            with pytest.raises(AsciiOnly, match="SMTPUTF8"):
                await road_to(postbox).send("abc", rendered("ömil@example.com"))
            assert postbox.letters == []

    async def test_a_server_whose_next_hop_lacks_smtputf8_is_not_retried(self) -> None:
        async with Postbox(takes_utf8=True) as postbox:
            road = road_to(postbox)
            postbox.refusals.append("553 5.6.7 Non-ASCII addresses not permitted")
            with pytest.raises(AsciiOnly):
                await road.send("abc", rendered("ömil@example.com"))
            postbox.second_thoughts.append("554 5.6.9 UTF-8 header message can not be transferred")
            with pytest.raises(AsciiOnly):
                await road.send("abc", rendered("ömil@example.com"))

    async def test_other_errors_are_retried(self) -> None:
        async with Postbox(takes_utf8=True) as postbox:
            road = road_to(postbox)
            for refusal in ("451 4.6.7 Try later", "554 5.1.8 Bad sender"):
                postbox.second_thoughts.append(refusal)
                with pytest.raises(aiosmtplib.SMTPDataError):
                    await road.send("abc", rendered("ömil@example.com"))

    async def test_a_missing_login_is_not_an_error_of_the_address(self) -> None:
        async with Postbox() as postbox:
            with pytest.raises(aiosmtplib.SMTPException) as raised:
                await road_to(postbox, user=USER, password="x").send("abc", rendered("ömil@x.y"))
            assert not isinstance(raised.value, AsciiOnly)
