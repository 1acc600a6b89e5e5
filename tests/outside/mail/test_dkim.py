"""Emails are signed (DKIM); a verifier that shares no code with what signs reads them at the mail
server."""

from __future__ import annotations

from datetime import UTC, datetime
from email.headerregistry import Address
from typing import Final

import pytest
from tests.outside.mail.dkim_verifier import NotVerified, verify
from tests.outside.mail.offices import Office
from tests.outside.mail.test_outbox import queue
from tests.waiting import until

from masthead.base.caller import system
from masthead.outside.mail.collection import sending_domains
from masthead.outside.mail.message import ComposedMail, RenderedMail, SigningKey, compose
from masthead.outside.mail.signing import KeyPair, Signer, make_key_pair, signed_in_process
from masthead.outside.mail.signing_keys import PLATFORM, SigningKeys

WRITTEN: Final = datetime(2026, 11, 17, 9, 30, tzinfo=UTC)
SENDER: Final = Address("The Coast", "no-reply", "coast.example")


@pytest.fixture(scope="module")
def pair() -> KeyPair:
    return make_key_pair()


def record(pair: KeyPair) -> str:
    return f"v=DKIM1; k=rsa; p={pair.public_key}"


def mail(pair: KeyPair, **values: str) -> ComposedMail:
    given = {"to": "ada@example.org", "subject": "Tides", "text": "Hi", "html": "<p>Hi</p>"}
    key = SigningKey("coast.example", "mh1", pair.private_key)
    rendered = RenderedMail(**{**given, **values})
    return compose(rendered, mail_id="m1", written=WRITTEN, sender=SENDER, key=key)


def signed(mail: ComposedMail) -> bytes:
    assert mail.key is not None
    key = mail.key
    return signed_in_process(key.private_key, key.domain, key.selector, mail.content)


@pytest.mark.parametrize(
    "values",
    [
        {},
        {"text": "", "html": ""},
        {"text": "Long. " * 20_000, "html": "<p>\u00e4\u4e2d " + "x" * 2_000 + "</p>\n\n\n"},
        {"subject": "\u6f6e " * 60, "to_name": "Ada \u0141\u0119cka"},
        {"text": "From the sea\r\n.\r\n. \r\n \t\r\n\r\n"},
        {"unsubscribe_url": "https://coast.example/unsubscribe?t=" + "a" * 300},
    ],
)
def test_another_verifier_accepts_the_signature(pair: KeyPair, values: dict[str, str]) -> None:
    made = mail(pair, **values)
    content = signed(made)
    assert content.endswith(made.content)
    tags = verify(content, record(pair))
    assert (tags["d"], tags["s"]) == ("coast.example", "mh1")
    assert all(len(line) < 200 for line in content.partition(b"\r\nFrom:")[0].split(b"\r\n"))


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        (b"Subject: Tides", b"Subject: Prize", "signature is wrong"),
        (b"Subject: Tides", b"Subject: Tides\r\nSubject: Prize", "signature is wrong"),
        (b"Subject: Tides", b"Subject: Tides\r\nReply-To: thief@example.net", "signature is wrong"),
        (b"one-click@x", b"one-click@y", "signature is wrong"),
        (b"<p>Hi</p>", b"<p>Ho</p>", "body was changed"),
    ],
)
def test_a_change_on_the_way_breaks_it(pair: KeyPair, old: bytes, new: bytes, why: str) -> None:
    content = signed(mail(pair, unsubscribe_url="https://one-click@x"))
    assert old in content
    with pytest.raises(NotVerified, match=why):
        verify(content.replace(old, new), record(pair))


def test_what_providers_replace_is_not_signed(pair: KeyPair) -> None:
    content = signed(mail(pair))
    changed = content.replace(b"Message-ID: <m1@", b"Message-ID: <0100@").replace(b"2026", b"2027")
    assert changed != content
    verify(changed, record(pair))


def test_the_key_of_another_domain_does_not_verify_it(pair: KeyPair) -> None:
    with pytest.raises(NotVerified, match="signature is wrong"):
        verify(signed(mail(pair)), record(make_key_pair()))


async def test_a_process_signs_and_its_end_loses_no_signature(pair: KeyPair) -> None:
    signer = Signer(processes=1)

    async def signs() -> bool:
        """Not on a machine that is too busy to start it in time: then the caller has signed."""
        verify((await signer.sign(mail(pair))).content, record(pair))
        return signer._free[0]._running is not None

    await until(signs)
    running = signer._free[0]._running
    assert running is not None
    running[0].kill()
    running[0].join()
    verify((await signer.sign(mail(pair))).content, record(pair))


async def test_an_email_without_a_key_is_left_as_it_is() -> None:
    rendered = RenderedMail("ada@example.org", "Tides", "Hi", "<p>Hi</p>")
    made = compose(rendered, mail_id="m1", written=WRITTEN, sender=SENDER)
    assert (await Signer(processes=1).sign(made)).content == made.content


class TestOutgoing:
    async def test_emails_are_signed_once_the_installation_has_a_key(self, office: Office) -> None:
        parts = office.world.parts
        # The key is made by another process than the one that sends.
        keys = SigningKeys(parts.records, parts.settings)
        domain = parts.settings.mail_from.domain
        await queue(await office.world.new_tenant())
        (unsigned,) = await office.mails()
        assert "dkim-signature" not in unsigned
        made = await keys.make(system(), domain)
        assert (await keys.make(system(), domain))["id"] == made["id"]
        for path in office.folder.iterdir():
            path.unlink()
        await queue(await office.world.new_tenant())
        await office.mails()
        (path,) = office.folder.iterdir()
        tags = verify(path.read_bytes(), f"v=DKIM1; k=rsa; p={made['public_key']}")
        assert (tags["d"], tags["s"]) == (domain, made["selector"])

    async def test_the_stored_key_can_be_read_with_the_root_secret_only(
        self, office: Office
    ) -> None:
        parts = office.world.parts
        keys, domain = parts.signing_keys, parts.settings.mail_from.domain
        await keys.make(system(), domain)
        [stored] = await parts.records.find(sending_domains, {}, tenant_id=PLATFORM)
        assert stored["private_key"].startswith("v1.")
        assert "PRIVATE" not in str(stored)
        assert "PRIVATE" not in repr(await keys.of_installation())
        operator = await office.world.operator()
        answer = await operator.api.get("/api/collections/sending_domains/records")
        assert answer.status_code == 200, answer.text
        assert domain in answer.text
        assert "private_key" not in answer.text

    async def test_a_new_key_signs_in_every_process_at_once(self, office: Office) -> None:
        parts = office.world.parts
        here, there = (SigningKeys(parts.records, parts.settings) for _ in range(2))
        domain = parts.settings.mail_from.domain
        assert await there.of_installation() is None
        first = await here.make(system(), domain)
        assert (key := await there.of_installation())
        assert key.selector == first["selector"]
        await here.renew(system(), domain)
        assert (key := await there.of_installation())
        assert key.selector == f"{first['selector']}-2"
