"""The recipients of a mailing, by the state of their email or by address."""

from __future__ import annotations

from typing import Final

import msgspec

from masthead.base import ids
from masthead.base.email_address import normal_email
from masthead.base.languages.words import words
from masthead.engine.records.filter.conditions import equals
from masthead.engine.records.read.page import ListRequest
from masthead.faces.admin.endpoint import Answer, Page
from masthead.faces.admin.lists import Filters, Pager, Pick, with_query
from masthead.faces.admin.pages.mailings.mailing import ADDRESS
from masthead.faces.admin.pages.members.listing import searched
from masthead.faces.admin.request import AdminRequest
from masthead.features.mailings.collection import mailings
from masthead.features.mailings.recipients import Fate, Recipient
from masthead.features.members.collection import blog_members

PER_PAGE: Final = 50
FATES: Final = {
    Fate.WAITING: ("info", words("Waiting")),
    Fate.SENT: ("good", words("Sent")),
    Fate.FAILED: ("bad", words("Refused")),
    Fate.UNCERTAIN: ("warn", words("Uncertain")),
    Fate.BOUNCED: ("bad", words("Bounced")),
    Fate.COMPLAINED: ("bad", words("Reported as spam")),
    Fate.UNSUBSCRIBED: ("draft", words("Unsubscribed")),
}
"""The kind of badge, and its words."""
_WORDS: Final = {fate.value: words for fate, (_, words) in FATES.items()}


class RecipientFilters(Filters, frozen=True):
    picks = (Pick("state", words("State of the email"), words("Everyone"), _WORDS),)

    state: str = ""
    q: str = ""


class _RecipientPage(msgspec.Struct, frozen=True):
    rows: list[Recipient]
    older: str = ""
    """The id after which the next page begins."""
    note: str = ""


async def recipients_page(request: AdminRequest, mailing_id: str) -> Answer:
    mailing = await request.records.get(request.caller, mailings, mailing_id)
    filters, own = RecipientFilters.of(request.query), f"{ADDRESS}/{mailing_id}"
    address = f"{own}/recipients"
    found = await _read(request, filters, mailing_id)
    parameters = filters.parameters()
    values = {
        "mailing": mailing,
        "own": own,
        "address": address,
        "filters": filters,
        "picks": filters.picks,
        "rows": found.rows,
        "fates": FATES,
        "note": found.note,
        "pager": Pager(
            0,
            0,
            -1,
            with_query(address, **parameters) if request.query.get("after") else "",
            with_query(address, **parameters, after=found.older) if found.older else "",
        ),
    }
    title = words("Recipients of “%(subject)s”", subject=mailing["subject"])
    return Page("mailings/recipients.html", title, values, fragment="mailings/_recipients.html")


async def _read(
    request: AdminRequest, filters: RecipientFilters, mailing_id: str
) -> _RecipientPage:
    recipients = request.services.mailings.recipients
    key = (request.tenant_id, mailing_id)
    fate = Fate(filters.state) if filters.state else None
    if filters.q:
        among = await recipients.among(*key, await _members(request, filters.q))
        return _RecipientPage([each for each in among if fate in (None, each.fate)])
    if fate is Fate.WAITING:
        waiting = await recipients.waiting(*key, PER_PAGE + 1)
        note = words("The next %(per_page)s.", per_page=PER_PAGE) if len(waiting) > PER_PAGE else ""
        return _RecipientPage(waiting[:PER_PAGE], note=note)
    after = request.query.get("after", "")
    found = await recipients.page(*key, fate, after if ids.is_id(after) else "", limit=PER_PAGE + 1)
    rows = found[:PER_PAGE]
    return _RecipientPage(rows, rows[-1].member_id if len(found) > PER_PAGE else "")


async def _members(request: AdminRequest, words: str) -> list[str]:
    """The members with this address, or else the newest that are found by the words."""
    wanted = ListRequest(
        per_page=PER_PAGE, filter=equals("email", normal_email(words)), skip_total=True
    )
    found = (await request.records.page(request.caller, blog_members, wanted)).items
    if not found:
        wanted = ListRequest(per_page=PER_PAGE, search=searched(words), skip_total=True)
        found = (await request.records.page(request.caller, blog_members, wanted)).items
    return [each["id"] for each in found]
