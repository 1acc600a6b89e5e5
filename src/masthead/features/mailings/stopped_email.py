"""The email to the owner of a site about a mailing that was paused or has failed."""

from __future__ import annotations

from masthead.engine.records.collection import Record
from masthead.features.mailings.collection import FAILED, TELL_FAILED, mailings
from masthead.features.site.address import Site
from masthead.features.site.notices import Notice
from masthead.outside.mail.emails import write_email
from masthead.outside.mail.message import Mail


def mailing_stopped(mailing: Record, site: Site, to: str) -> Mail:
    values = {name: mailing[name] for name in ("reason", "sent", "bounced", "recipients")}
    return write_email(
        f"mailing_{mailing['status']}",
        site,
        to,
        mailing_url=f"{site.url}/admin/mailings/{mailing['id']}",
        mailing_subject=mailing["subject"],
        tried=mailing["sent"] + mailing["failed"],
        **values,
    )


NOTICES = {
    TELL_FAILED: Notice(
        mailings, "mailing_id", lambda each: bool(each["status"] == FAILED), mailing_stopped
    )
}
