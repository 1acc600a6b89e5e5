"""Our emails: a row for each, with the constants of its pair of templates, which have its name.

An email to an unconfirmed address holds no text that the requester could choose.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Protocol

from masthead.base.languages.words import Words, marked
from masthead.outside.mail.message import Mail

_LINK: Final = {"minutes": 15}
_LONG_LINK: Final = {"hours": 24}


class MailedSite(Protocol):
    @property
    def name(self) -> str: ...
    @property
    def url(self) -> str: ...
    @property
    def language(self) -> str: ...


EMAILS: Final[Mapping[str, tuple[str, Mapping[str, object]]]] = {
    # To members, and to addresses that want to be.
    "confirm_email": (marked("Confirm your email address for %(site)s"), _LONG_LINK),
    "verify_email": (marked("Confirm that %(email)s is your address at %(site)s"), _LONG_LINK),
    # `has_password`: the request chose one, and may come from another person, who could then sign
    # in with it.
    "confirm_sign_up": (
        marked("Confirm that you want to join %(site)s"),
        {**_LONG_LINK, **_LINK, "has_password": False},
    ),
    "already_member": (marked("You are already a member of %(site)s"), _LINK),
    "sign_in": (marked("Sign in to %(site)s"), _LINK),
    "email_in_use": (marked("You already have an account at %(site)s"), {}),
    # To the old address, in case its owner did not request the change.
    "email_changed": (marked("Your email address at %(site)s was changed"), {}),
    "welcome_paid": (marked("You are a paid member of %(site)s"), {}),
    "gift_given": (marked("A gift for you at %(site)s"), {}),
    "gift_bought": (marked("Your gift at %(site)s: the code"), {}),
    # To members and staff.
    "reset_password": (marked("Choose a new password for %(site)s"), {}),
    "comment_posted": (marked("New comment on “%(short_title)s”"), {}),
    "comment_answered": (marked("%(author)s replied to your comment"), {}),
    "privacy_export_ready": (marked("Your data from %(site)s is ready"), {}),
    "privacy_deletion": ("", {}),
    "privacy_receipt": ("", {}),
    # To staff, who type the code where they sign in.
    "staff_code": (marked("Your code for %(site)s"), _LINK),
    "post_ready": (marked("Ready for review at %(site)s: “%(short_title)s”"), {}),
    "post_sent_back": (marked("Sent back at %(site)s: “%(short_title)s”"), {}),
    "invitation": (marked("You are invited to %(site)s"), {}),
    # To the account's own address, no matter who made the change.
    "factors_changed": (marked("The second factors of your account at %(site)s have changed"), {}),
    "new_browser": (marked("A new sign-in to %(site)s"), {}),
    "site_export": ("", {}),
    "test_mail": (marked("A test email from %(site)s"), {}),
    # To the owner of the site.
    "site_suspended": (marked("%(site)s was suspended"), {}),
    # Without `ends` the domain has ended.
    "domain_unproven": ("", {}),
    "mailing_paused": (marked("A newsletter of %(site)s was paused"), {}),
    "mailing_failed": (marked("A newsletter of %(site)s failed"), {}),
    "webhook_disabled": (marked("A webhook of %(site)s was disabled"), {}),
}
"""The subject, or an empty one if the writer gives it, and constants."""


def write_email(
    template: str,
    site: MailedSite,
    to: str,
    *,
    name: str = "",
    subject: str = "",
    language: str = "",
    unsubscribe_url: str = "",
    **values: Any,
) -> Mail:
    """`language`: the recipient's, if it is not the site's."""
    message, constants = EMAILS[template]
    common = {"site_name": site.name, "site_url": site.url, "email": to, "name": name}
    filled = {**common, **constants, **values}
    return Mail(
        template,
        to,
        subject or Words(message, {**filled, "site": site.name}),
        filled,
        to_name=name,
        language=language or site.language,
        unsubscribe_url=unsubscribe_url,
    )
