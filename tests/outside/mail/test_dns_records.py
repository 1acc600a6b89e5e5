"""The records of a sending domain, asked of a real name server on loopback."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any, Final

import pytest
from tests.outside.outbound.names import NameServer

from masthead.base.config.settings import Settings
from masthead.outside.mail.dns_records import DnsChecks, Finding, RecordState, spf_mechanism
from masthead.outside.outbound import name_server

KEY: Final = "MIIBIjAN" + "A" * 384
RECORD: Final = {"domain": "news.coast.example", "selector": "mh1", "public_key": KEY}
AT_KEY: Final = "mh1._domainkey.news.coast.example"
RIGHT: Final = f"v=DKIM1; k=rsa; p={KEY}"


@pytest.fixture
async def names() -> AsyncIterator[NameServer]:
    async with NameServer() as server:
        yield server


async def found(names: NameServer, kind: str) -> Finding:
    settings = Settings.from_environ({"MASTHEAD_SMTP_URL": "smtp://relay.coast.example:25"})
    checks = DnsChecks(name_server.NameServer(("127.0.0.1", names.port)), settings)
    [finding] = [
        e for e in await checks.look(RECORD, is_installation=True) if e.wanted.kind == kind
    ]
    return finding


@pytest.mark.parametrize(
    ("values", "state", "sentence"),
    [
        ([], RecordState.MISSING, "no DKIM record"),
        ([RIGHT], RecordState.FOUND, ""),
        ([f"p={KEY[:100]} {KEY[100:]};k=rsa"], RecordState.FOUND, ""),
        (["v=DKIM1; p="], RecordState.WRONG, "holds no key"),
        (["hello"], RecordState.WRONG, "holds no key"),
        ([RIGHT[:255]], RecordState.WRONG, "cut off"),
        (["v=DKIM1; p=AAAA"], RecordState.WRONG, "another key"),
        ([RIGHT, "v=DKIM1; p=AAAA"], RecordState.WRONG, "2 TXT records"),
    ],
)
async def test_dkim(
    names: NameServer, values: list[str], state: RecordState, sentence: str
) -> None:
    if values:
        names.tell_text(AT_KEY, *values)
    finding = await found(names, "DKIM")
    assert (finding.state, finding.wanted.name, finding.wanted.value) == (state, AT_KEY, RIGHT)
    assert sentence in finding.sentence
    assert bool(finding.sentence) is (state is not RecordState.FOUND)


SPF_AT: Final = RECORD["domain"]


@pytest.mark.parametrize(
    ("zone", "state", "sentence"),
    [
        ({}, RecordState.MISSING, "no SPF record"),
        ({SPF_AT: ["google-site=1"]}, RecordState.MISSING, "no SPF record"),
        ({SPF_AT: ["v=spf1 a:relay.coast.example ~all", "other"]}, RecordState.FOUND, ""),
        ({SPF_AT: ["V=SPF1 +A:Relay.Coast.Example -all"]}, RecordState.FOUND, ""),
        ({SPF_AT: ["v=spf1 mx -all"]}, RecordState.WRONG, "Add a:relay.coast.example"),
        ({SPF_AT: ["v=spf1 -a:relay.coast.example -all"]}, RecordState.WRONG, "does not allow"),
        ({SPF_AT: ["v=spf1 -all", "v=spf1 mx -all"]}, RecordState.WRONG, "2 SPF records"),
        (
            {
                SPF_AT: ["v=spf1 include:one.example include:two.example -all"],
                "one.example": ["v=spf1 include:news.coast.example -all"],
                "two.example": ["v=spf1 redirect=three.example"],
                "three.example": ["v=spf1 a:relay.coast.example -all"],
            },
            RecordState.FOUND,
            "",
        ),
    ],
)
async def test_spf(
    names: NameServer, zone: dict[str, list[str]], state: RecordState, sentence: str
) -> None:
    for name, values in zone.items():
        names.tell_text(name, *values)
    finding = await found(names, "SPF")
    assert (finding.state, finding.wanted.name) == (state, SPF_AT)
    assert finding.wanted.value == "v=spf1 a:relay.coast.example ~all"
    assert sentence in finding.sentence


async def test_a_hostile_zone_ends(names: NameServer) -> None:
    names.tell_text(SPF_AT, "v=spf1 " + " ".join(f"include:n{each}.example" for each in range(12)))
    for each in range(40):
        more = " ".join(f"include:n{each}x{other}.example" for other in range(9))
        names.tell_text(f"n{each}.example", f"v=spf1 {more}")
    assert (await found(names, "SPF")).state is RecordState.WRONG


@pytest.mark.parametrize(
    ("zone", "state", "sentence"),
    [
        ({}, RecordState.MISSING, "no DMARC record at _dmarc.news.coast.example"),
        ({"news.coast.example": ["v=DMARC1; p=none"]}, RecordState.FOUND, ""),
        ({"coast.example": ["v=DMARC1;p=reject; rua=mailto:a@b.example"]}, RecordState.FOUND, ""),
        ({"example": ["v=DMARC1; p=none"]}, RecordState.MISSING, "no DMARC record"),
        ({"news.coast.example": ["v=DMARC1; p=maybe"]}, RecordState.WRONG, "has no policy"),
        (
            {"coast.example": ["v=DMARC1; p=none", "v=DMARC1; p=reject"]},
            RecordState.WRONG,
            "2 DMARC",
        ),
    ],
)
async def test_dmarc(
    names: NameServer, zone: dict[str, list[str]], state: RecordState, sentence: str
) -> None:
    for name, values in zone.items():
        names.tell_text(f"_dmarc.{name}", *values)
    finding = await found(names, "DMARC")
    assert finding.state is state
    assert sentence in finding.sentence


async def test_name_servers_that_fail_say_nothing_about_the_records(names: NameServer) -> None:
    names.is_broken = True
    for kind in ("SPF", "DKIM", "DMARC"):
        assert (await found(names, kind)).state is RecordState.UNREACHABLE


@pytest.mark.parametrize(
    ("environ", "mechanism"),
    [
        ({"SMTP_URL": "smtps://email-smtp.eu-west-1.amazonaws.com"}, "include:amazonses.com"),
        ({"SMTP_URL": "smtp://smtp.eu.mailgun.org:587"}, "include:mailgun.org"),
        ({"SMTP_URL": "smtp://127.0.0.1:25", "BASE_DOMAIN": "coast.example"}, "a:coast.example"),
        ({"SMTP_URL": "smtp://mail.coast.example"}, "a:mail.coast.example"),
        ({"SMTP_URL": "smtp://x.example", "MAIL_SPF": "ip4:192.0.2.25"}, "ip4:192.0.2.25"),
    ],
)
def test_what_lets_the_mail_server_send(environ: dict[str, Any], mechanism: str) -> None:
    settings = Settings.from_environ({f"MASTHEAD_{k}": v for k, v in environ.items()})
    assert spf_mechanism(settings) == mechanism
