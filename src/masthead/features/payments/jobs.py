"""The email to a member whose payment has arrived."""

from __future__ import annotations

from masthead.engine.records.collection import Record
from masthead.features.members.collection import blog_members
from masthead.features.payments.memberships import WELCOME
from masthead.features.site.address import Site
from masthead.features.site.notices import Notice
from masthead.outside.mail.emails import write_email
from masthead.outside.mail.message import Mail


def welcome_paid(member: Record, site: Site, to: str) -> Mail:
    link = f"{site.url}/member/account"
    own = site.for_member(member)
    return write_email("welcome_paid", own, to, name=member["name"], link=link)


NOTICES = {
    WELCOME: Notice(
        blog_members,
        "member_id",
        lambda each: bool(each["tier"] == "paid"),
        welcome_paid,
        is_for_owner=False,
    )
}
