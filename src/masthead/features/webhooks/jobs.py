"""The email to the owner of a site about a subscription that was disabled."""

from __future__ import annotations

from urllib.parse import urlsplit

from masthead.engine.records.collection import Record
from masthead.features.site.address import Site
from masthead.features.site.notices import Notice
from masthead.features.webhooks.collection import webhook_subscriptions
from masthead.features.webhooks.queue import NOTIFY_DISABLED
from masthead.outside.mail.emails import write_email
from masthead.outside.mail.message import Mail


def webhook_disabled(subscription: Record, site: Site, to: str) -> Mail:
    return write_email(
        "webhook_disabled",
        site,
        to,
        webhook_name=subscription["name"],
        # Only the host: the URL may hold a key, and a mail scanner would open it.
        receiver=urlsplit(subscription["url"]).hostname,
        webhook_url=f"{site.url}/admin/webhooks/{subscription['id']}",
        failures=subscription["failure_count"],
    )


NOTICES = {
    NOTIFY_DISABLED: Notice(
        webhook_subscriptions,
        "webhook_id",
        lambda each: bool(each["disabled_at"]),
        webhook_disabled,
    )
}
