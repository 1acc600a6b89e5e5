"""The domain that emails come from: the records to set, and what a check of them finds. A site has
a page for its own domain, operators one for the installation's."""

from __future__ import annotations

from typing import Any, Final

import msgspec
from msgspec.structs import replace

from masthead.base.caller import Caller
from masthead.base.errors import NotFound, RateLimited
from masthead.base.languages.words import words
from masthead.engine.records.collection import Record
from masthead.faces.admin.endpoint import Answer, Page, Redirect
from masthead.faces.admin.pages.settings.subnav import DOMAIN, SENDING, in_settings
from masthead.faces.admin.request import AdminRequest
from masthead.outside.mail.dns_records import Finding, RecordState, WantedRecord, are_right
from masthead.outside.mail.message import at_domain
from masthead.outside.mail.signing_keys import PLATFORM
from masthead.web.errors import retry_after

INSTALLATION: Final = "/admin/operator/sending"
_FRAGMENT: Final = "sending/_records.html"
_BADGES: Final = {
    RecordState.FOUND: ("good", words("Right")),
    RecordState.MISSING: ("warn", words("Missing")),
    RecordState.WRONG: ("bad", words("Wrong")),
    RecordState.UNREACHABLE: ("draft", words("No answer")),
}


class DomainPage(msgspec.Struct, frozen=True):
    """The site's page or the installation's."""

    address: str
    caller: Caller
    domain: str
    """Empty for a site without a domain of its own."""
    is_installation: bool


async def site_page(request: AdminRequest) -> Answer:
    return await _page(request, _site(request))


async def make_site_key(request: AdminRequest) -> Answer:
    return await _make(request, _site(request))


async def ask_new_site_key(request: AdminRequest) -> Answer:
    place = _site(request)
    if await _record(request, place) is None:
        return Redirect(SENDING)
    values = {
        "domain": place.domain,
        "back": SENDING,
        "installation": request.services.settings.mail_from.addr_spec,
    }
    return in_settings(request, "new-sending-key.html", words("New key"), values)


async def make_new_site_key(request: AdminRequest) -> Answer:
    place = _site(request)
    if await _record(request, place) is None:
        raise NotFound
    await request.tools.sending.keys.renew(place.caller, place.domain)
    return Redirect(SENDING, words("A new key has been created. Set its DKIM record."))


async def check_site(request: AdminRequest) -> Answer:
    return await _check(request, _site(request))


async def installation_page(request: AdminRequest) -> Answer:
    return await _page(request, _installation(request))


async def make_installation_key(request: AdminRequest) -> Answer:
    return await _make(request, _installation(request))


async def check_installation(request: AdminRequest) -> Answer:
    return await _check(request, _installation(request))


def _site(request: AdminRequest) -> DomainPage:
    return DomainPage(SENDING, request.caller, request.site_record["custom_domain"], False)


def _installation(request: AdminRequest) -> DomainPage:
    domain = request.services.settings.mail_from.domain
    return DomainPage(INSTALLATION, request.everywhere, domain, True)


async def _make(request: AdminRequest, place: DomainPage) -> Answer:
    if not place.domain:
        raise NotFound
    await request.tools.sending.keys.make(place.caller, place.domain)
    return Redirect(place.address, words("Set the records below, then check them."))


async def _check(request: AdminRequest, place: DomainPage) -> Answer:
    record = await _record(request, place)
    if record is None:
        return Redirect(place.address)
    try:
        findings = await request.tools.sending.check(place.caller, record)
    except RateLimited as error:
        headers = tuple(retry_after(429, error))
        page = await _page(request, place, refusal=str(error))
        return replace(page, status=429, headers=headers)
    if not record["is_ready"] and are_right(findings):
        # The whole page says something else now.
        return Redirect(
            place.address, words("The records of %(domain)s are right.", domain=place.domain)
        )
    return await _page(request, place, findings)


async def _page(
    request: AdminRequest,
    place: DomainPage,
    findings: list[Finding] | None = None,
    refusal: str = "",
) -> Page:
    mail_from = request.services.settings.mail_from
    record = await _record(request, place)
    is_own = bool(record and record["is_ready"])
    values: dict[str, Any] = {
        "address": place.address,
        "domain": place.domain,
        "sender": at_domain(mail_from, place.domain if is_own else ""),
        "would_be": at_domain(mail_from, place.domain),
        "installation": mail_from.addr_spec,
        "is_installation": place.is_installation,
        "records": _findings(request, place, record, findings) if record else [],
        "badges": _BADGES,
        "is_ready": is_own,
        "is_checked": findings is not None,
        "checked": request.when(record["checked_at"]) if record and record["checked_at"] else "",
        "refusal": refusal,
        "domain_address": DOMAIN,
        "warning": "" if place.is_installation else await _warning(request),
    }
    if place.is_installation:
        page = Page("operator/sending.html", words("Sending domain"), values)
    else:
        page = in_settings(request, "sending.html", words("Sending domain"), values)
    return replace(page, fragment=_FRAGMENT) if record else page


async def _warning(request: AdminRequest) -> str:
    return await request.services.mailings.senders.warning(request.tenant_id)


async def _record(request: AdminRequest, place: DomainPage) -> Record | None:
    if not place.domain:
        return None
    tenant_id = PLATFORM if place.is_installation else request.tenant_id
    return await request.tools.sending.keys.find(tenant_id, place.domain)


def _findings(
    request: AdminRequest, place: DomainPage, record: Record, findings: list[Finding] | None
) -> list[tuple[WantedRecord, Finding | None]]:
    """Each record that is wanted, with what a check of it has found."""
    if findings is not None:
        return [(each.wanted, each) for each in findings]
    checks = request.tools.sending.checks
    wanted = checks.wanted(record, is_installation=place.is_installation)
    return [(each, None) for each in wanted]
