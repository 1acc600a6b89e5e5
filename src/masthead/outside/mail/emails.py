"""Our emails: a row for each, with the constants of its pair of templates, which have its name.

An email to an unconfirmed address holds no text that the requester could choose.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Protocol

from masthead.outside.mail.message import Mail

_LINK: Final = {"minutes": 15}
_LONG_LINK: Final = {"hours": 24}


class MailedSite(Protocol):
    @property
    def name(self) -> str: ...
    @property
    def url(self) -> str: ...


EMAILS: Final[Mapping[str, tuple[str, Mapping[str, object]]]] = {
    # To members, and to addresses that want to be.
    "confirm_email": ("Confirm your email address for {site_name}", _LONG_LINK),
    "verify_email": ("Confirm that {email} is your address at {site_name}", _LONG_LINK),
    # `has_password`: the request chose one, and may come from another person, who could then sign
    # in with it.
    "confirm_sign_up": (
        "Confirm that you want to join {site_name}",
        {**_LONG_LINK, **_LINK, "has_password": False},
    ),
    "already_member": ("You are already a member of {site_name}", _LINK),
    "sign_in": ("Sign in to {site_name}", _LINK),
    "email_in_use": ("You already have an account at {site_name}", {}),
    # To the old address, in case its owner did not request the change.
    "email_changed": ("Your email address at {site_name} was changed", {}),
    "welcome_paid": ("You are a paid member of {site_name}", {}),
    "gift_given": ("A gift for you at {site_name}", {}),
    "gift_bought": ("Your gift at {site_name}: the code", {}),
    # To members and staff.
    "reset_password": ("Choose a new password for {site_name}", {}),
    "comment_posted": ("New comment on “{short_title}”", {}),
    "comment_answered": ("{author} replied to your comment", {}),
    "privacy_export_ready": ("Your data from {site_name} is ready", {}),
    "privacy_deletion": ("{begins} {what}", {}),
    "privacy_receipt": ("{what} has been deleted", {}),
    # To staff, who type the code where they sign in.
    "staff_code": ("Your code for {site_name}", _LINK),
    "post_ready": ("Ready for review at {site_name}: “{short_title}”", {}),
    "post_sent_back": ("Sent back at {site_name}: “{short_title}”", {}),
    "invitation": ("You are invited to {site_name}", {}),
    # To the account's own address, no matter who made the change.
    "factors_changed": ("The second factors of your account at {site_name} have changed", {}),
    "new_browser": ("A new sign-in to {site_name}", {}),
    "site_export": ("The export of {site_name} {outcome}", {}),
    "test_mail": ("A test email from {site_name}", {}),
    # To the owner of the site.
    "site_suspended": ("{site_name} was suspended", {}),
    # Without `ends` the domain has ended.
    "domain_unproven": ("The domain of {site_name}: {state}", {}),
    "mailing_paused": ("A newsletter of {site_name} was paused", {}),
    "mailing_failed": ("A newsletter of {site_name} failed", {}),
    "webhook_disabled": ("A webhook of {site_name} was disabled", {}),
}


def write_email(
    template: str,
    site: MailedSite,
    to: str,
    *,
    name: str = "",
    unsubscribe_url: str = "",
    **values: Any,
) -> Mail:
    subject, constants = EMAILS[template]
    common = {"site_name": site.name, "site_url": site.url, "email": to, "name": name}
    filled = {**common, **constants, **values}
    return Mail(
        template,
        to,
        subject.format_map(filled),
        filled,
        to_name=name,
        unsubscribe_url=unsubscribe_url,
    )
