"""The DNS records by which receivers know that an email is from whom it says: SPF (RFC 7208), DKIM
(RFC 6376) and DMARC (RFC 7489). What each has to be, and what is wrong with what is there."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from enum import StrEnum
from typing import Final

import msgspec

from masthead.base.config.settings import Settings
from masthead.base.languages.words import staff_words
from masthead.engine.records.collection import Record
from masthead.outside.outbound.name_server import NameServer, NameServerFailed

MAX_LOOKUPS: Final = 10
"""As many as a receiver does for one SPF record (4.6.4)."""
MAX_PARENTS: Final = 5
"""Labels that are taken off a domain to find the DMARC record above it."""
_POLICIES: Final = ("none", "quarantine", "reject")
_OF_PROVIDERS: Final = {
    "amazonaws.com": "include:amazonses.com",
    "postmarkapp.com": "include:spf.mtasv.net",
    "mailgun.org": "include:mailgun.org",
    "sendgrid.net": "include:sendgrid.net",
    "gmail.com": "include:_spf.google.com",
    "office365.com": "include:spf.protection.outlook.com",
    "fastmail.com": "include:spf.messagingengine.com",
}
"""The SPF mechanisms of providers, by the end of the mail server's name: they send from other
machines than the one that we ask."""


class RecordState(StrEnum):
    FOUND = "found"
    MISSING = "missing"
    WRONG = "wrong"
    UNREACHABLE = "unreachable"


class WantedRecord(msgspec.Struct, frozen=True):
    """A TXT record that has to be set."""

    kind: str
    name: str
    value: str
    is_needed: bool = True
    """False: emails may come from the domain without it."""


class Finding(msgspec.Struct, frozen=True):
    wanted: WantedRecord
    state: RecordState
    sentence: str = ""
    """Says what is wrong and what to do; empty for a record that is right."""

    @property
    def is_right(self) -> bool:
        return self.state is RecordState.FOUND


def are_right(findings: Iterable[Finding]) -> bool:
    """Those that are needed."""
    return all(each.is_right for each in findings if each.wanted.is_needed)


def spf_mechanism(settings: Settings) -> str:
    """The mechanism that an SPF record needs so that our mail server may send."""
    if settings.mail_spf:
        return settings.mail_spf
    host = settings.smtp_url.host if settings.smtp_url else ""
    for end, mechanism in _OF_PROVIDERS.items():
        if host == end or host.endswith(f".{end}"):
            return mechanism
    is_here = not host or host == "localhost" or host.startswith("127.") or ":" in host
    return f"a:{settings.base_domain if is_here else host}"


def wanted_spf(domain: str, mechanism: str, *, is_needed: bool) -> WantedRecord:
    return WantedRecord("SPF", domain, f"v=spf1 {mechanism} ~all", is_needed)


def wanted_dkim(record: Record) -> WantedRecord:
    """`record` is of `sending_domains`."""
    name = f"{record['selector']}._domainkey.{record['domain']}"
    return WantedRecord("DKIM", name, f"v=DKIM1; k=rsa; p={record['public_key']}")


def wanted_dmarc(domain: str) -> WantedRecord:
    return WantedRecord("DMARC", f"_dmarc.{domain}", "v=DMARC1; p=none")


class DnsChecks:
    def __init__(self, names: NameServer, settings: Settings) -> None:
        self._names = names
        self._mechanism = spf_mechanism(settings)

    def wanted(self, record: Record, *, is_installation: bool) -> list[WantedRecord]:
        """A site's emails have the installation's address on their envelope, whose SPF counts. Some
        receivers also look at that of the domain that readers see."""
        domain = record["domain"]
        spf = wanted_spf(domain, self._mechanism, is_needed=is_installation)
        others = [wanted_dkim(record), wanted_dmarc(domain)]
        return [spf, *others] if is_installation else [*others, spf]

    async def look(self, record: Record, *, is_installation: bool) -> list[Finding]:
        """Asks the name servers, all records at once."""
        checks: dict[str, Callable[[WantedRecord], Awaitable[Finding]]] = {
            "SPF": self._spf,
            "DKIM": self._dkim,
            "DMARC": self._dmarc,
        }
        wanted = self.wanted(record, is_installation=is_installation)
        return list(await asyncio.gather(*(_look_up(checks[each.kind], each) for each in wanted)))

    async def _spf(self, wanted: WantedRecord) -> Finding:
        found = [each for each in await self._names.texts(wanted.name) if _is_spf(each)]
        if not found:
            return _missing(wanted)
        if len(found) > 1:
            sentence = staff_words(
                "%(name)s has %(number)s SPF records, and receivers then use none of them. Put all "
                "their parts into one.",
                name=wanted.name,
                number=len(found),
            )
            return Finding(wanted, RecordState.WRONG, sentence)
        if await self._allows(found[0]):
            return Finding(wanted, RecordState.FOUND)
        sentence = staff_words(
            "The SPF record of %(name)s does not allow our mail server. Add %(mechanism)s to it, "
            "before its last part.",
            name=wanted.name,
            mechanism=self._mechanism,
        )
        return Finding(wanted, RecordState.WRONG, sentence)

    async def _allows(self, record: str) -> bool:
        """Whether the record holds the mechanism, itself or in a record that it includes."""
        waiting, left, seen = [record], MAX_LOOKUPS, set[str]()
        while waiting:
            parts = waiting.pop().lower().split()[1:]
            if self._mechanism.lower() in (each.lstrip("+") for each in parts):
                return True
            for each in parts:
                name = _included(each)
                if name and name not in seen and left:
                    seen.add(name)
                    left -= 1
                    waiting += [t for t in await self._names.texts(name) if _is_spf(t)][:1]
        return False

    async def _dkim(self, wanted: WantedRecord) -> Finding:
        found = await self._names.texts(wanted.name)
        if not found:
            return _missing(wanted)
        key = _tags(wanted.value)["p"]
        if len(found) > 1:
            sentence = staff_words(
                "%(name)s has %(number)s TXT records. Keep the one with our key.",
                name=wanted.name,
                number=len(found),
            )
            return Finding(wanted, RecordState.WRONG, sentence)
        tags = _tags(found[0])
        if tags.get("p", "") == key:
            return Finding(wanted, RecordState.FOUND)
        if not tags.get("p"):
            sentence = staff_words("The DKIM record holds no key. Copy its value once more.")
        elif key.startswith(tags["p"]):
            sentence = staff_words(
                "The DKIM record was cut off. Some providers want a long value in several parts of "
                "at most 255 characters, each in quotation marks."
            )
        else:
            sentence = staff_words("The DKIM record holds another key. Copy its value once more.")
        return Finding(wanted, RecordState.WRONG, sentence)

    async def _dmarc(self, wanted: WantedRecord) -> Finding:
        """A domain without a record has that of the domain above it."""
        labels = wanted.name.removeprefix("_dmarc.").split(".")
        for number in range(min(len(labels) - 1, MAX_PARENTS)):
            name = "_dmarc." + ".".join(labels[number:])
            found = [t for t in await self._names.texts(name) if t.lower().startswith("v=dmarc1")]
            if len(found) > 1:
                sentence = staff_words(
                    "%(name)s has %(number)s DMARC records. Keep one of them.",
                    name=name,
                    number=len(found),
                )
                return Finding(wanted, RecordState.WRONG, sentence)
            if found and _tags(found[0]).get("p", "").lower() in _POLICIES:
                return Finding(wanted, RecordState.FOUND)
            if found:
                sentence = staff_words(
                    "The DMARC record at %(name)s has no policy. Add p=none to it.", name=name
                )
                return Finding(wanted, RecordState.WRONG, sentence)
        return _missing(wanted)


async def _look_up(
    check: Callable[[WantedRecord], Awaitable[Finding]], wanted: WantedRecord
) -> Finding:
    try:
        return await check(wanted)
    except NameServerFailed:
        sentence = staff_words(
            "The name servers of this domain did not answer. Try again in a minute."
        )
        return Finding(wanted, RecordState.UNREACHABLE, sentence)


def _missing(wanted: WantedRecord) -> Finding:
    sentence = staff_words(
        "There is no %(kind)s record at %(name)s yet. Set it where you manage the domain's DNS. "
        "New records can take minutes, sometimes hours, to appear everywhere.",
        kind=wanted.kind,
        name=wanted.name,
    )
    return Finding(wanted, RecordState.MISSING, sentence)


def _is_spf(text: str) -> bool:
    return text.lower().split(" ", 1)[0] == "v=spf1"


def _included(part: str) -> str:
    for begin in ("include:", "+include:", "redirect="):
        if part.startswith(begin):
            return part.removeprefix(begin)
    return ""


def _tags(text: str) -> dict[str, str]:
    pairs = (each.partition("=") for each in text.split(";"))
    return {name.strip().lower(): "".join(value.split()) for name, _, value in pairs}
