"""The services of members for the faces."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import msgspec

from masthead.features.members.email_change import EmailChanges
from masthead.features.members.mailed_links import MailedLinks
from masthead.features.members.sign_up import Details
from masthead.features.site.address import Sites
from masthead.web.services import WebServices


class MemberServices(msgspec.Struct, frozen=True):
    links: MailedLinks
    email_changes: EmailChanges
    erase: Callable[..., Awaitable[None]]
    """Given a unit, the id and an `expected_version`: what is stored of a member in all rooms."""


def build_members(
    web: WebServices, sites: Sites, erase: Callable[..., Awaitable[None]]
) -> MemberServices:
    links = MailedLinks(
        web.records,
        web.accounts,
        web.throttle,
        web.mail,
        sites=sites,
        codes=web.codes,
        details=Details(web.keyring),
    )
    return MemberServices(links, EmailChanges(web.records, web.mail, sites), erase)
