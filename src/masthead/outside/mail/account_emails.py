"""Emails to accounts: each has a function here and a pair of templates of the same name.

An email to an unconfirmed address holds no text that the requester could choose.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from masthead.outside.mail.message import Mail


def confirm_email(*, site_name: str, site_url: str, to: str, link: str) -> Mail:
    """To the new address, which has to be confirmed."""
    return Mail(
        "confirm_email",
        to,
        f"Confirm your email address for {site_name}",
        {"site_name": site_name, "site_url": site_url, "link": link, "hours": 24},
    )


def verify_email(*, site_name: str, site_url: str, to: str, link: str) -> Mail:
    """To the address of a member, which was never confirmed."""
    return Mail(
        "verify_email",
        to,
        f"Confirm that {to} is your address at {site_name}",
        {"site_name": site_name, "site_url": site_url, "link": link, "hours": 24},
    )


def staff_code(*, site_name: str, site_url: str, to: str, code: str) -> Mail:
    """To staff, who type it where they sign in."""
    return Mail(
        "staff_code",
        to,
        f"Your code for {site_name}",
        {"site_name": site_name, "site_url": site_url, "code": code, "minutes": 15},
    )


def confirm_sign_up(
    *, site_name: str, site_url: str, to: str, link: str, code: str, has_password: bool = False
) -> Mail:
    """To an address that wants to join. `has_password`: the request chose one, and may be that of
    somebody else, who could then sign in with it."""
    return Mail(
        "confirm_sign_up",
        to,
        f"Confirm that you want to join {site_name}",
        {
            "site_name": site_name,
            "site_url": site_url,
            "link": link,
            "hours": 24,
            "code": code,
            "has_password": has_password,
            "minutes": 15,
        },
    )


def already_member(*, site_name: str, site_url: str, to: str, link: str, code: str) -> Mail:
    """To an address that wants to join and has an account."""
    return Mail(
        "already_member",
        to,
        f"You are already a member of {site_name}",
        {
            "site_name": site_name,
            "site_url": site_url,
            "link": link,
            "minutes": 15,
            "code": code,
        },
    )


def sign_in(*, site_name: str, site_url: str, to: str, link: str, code: str) -> Mail:
    return Mail(
        "sign_in",
        to,
        f"Sign in to {site_name}",
        {
            "site_name": site_name,
            "site_url": site_url,
            "link": link,
            "minutes": 15,
            "code": code,
        },
    )


def email_in_use(*, site_name: str, site_url: str, to: str) -> Mail:
    """To a requested new address that already has an account."""
    return Mail(
        "email_in_use",
        to,
        f"You already have an account at {site_name}",
        {"site_name": site_name, "site_url": site_url},
    )


def email_changed(*, site_name: str, site_url: str, to: str, to_name: str, new_email: str) -> Mail:
    """To the old address, in case its owner did not request the change."""
    return Mail(
        "email_changed",
        to,
        f"Your email address at {site_name} was changed",
        {"site_name": site_name, "site_url": site_url, "name": to_name, "new_email": new_email},
        to_name=to_name,
    )


def reset_password(*, site_name: str, site_url: str, to: str, link: str, minutes: int) -> Mail:
    """To the account's own address."""
    return Mail(
        "reset_password",
        to,
        f"Choose a new password for {site_name}",
        {
            "site_name": site_name,
            "site_url": site_url,
            "email": to,
            "link": link,
            "minutes": minutes,
        },
    )


def invitation(
    *, site_name: str, site_url: str, to: str, by: str, role: str, link: str, days: int
) -> Mail:
    """To one who is to become staff of a site."""
    return Mail(
        "invitation",
        to,
        f"You are invited to {site_name}",
        {
            "site_name": site_name,
            "site_url": site_url,
            "email": to,
            "by": by,
            "role": role,
            "link": link,
            "days": days,
        },
    )


def factors_changed(*, site_name: str, site_url: str, to: str, what: str) -> Mail:
    """To the account's own address, whoever has changed them."""
    return Mail(
        "factors_changed",
        to,
        f"The second factors of your account at {site_name} have changed",
        {"site_name": site_name, "site_url": site_url, "email": to, "what": what},
    )


def new_browser(*, site_name: str, site_url: str, to: str, browser: str, address: str) -> Mail:
    """To the account's own address, after a sign-in with a browser that it has not used before."""
    return Mail(
        "new_browser",
        to,
        f"A new sign-in to {site_name}",
        {
            "site_name": site_name,
            "site_url": site_url,
            "email": to,
            "browser": browser,
            "address": address,
        },
    )


def site_suspended(*, site_name: str, site_url: str, to: str, reason: str, link: str) -> Mail:
    """To the owner of the site."""
    return Mail(
        "site_suspended",
        to,
        f"{site_name} was suspended",
        {"site_name": site_name, "site_url": site_url, "reason": reason, "link": link},
    )


def domain_unproven(
    *,
    site_name: str,
    site_url: str,
    to: str,
    domain: str,
    record_name: str,
    record_value: str,
    ends: str,
) -> Mail:
    """To the owner of the site; without `ends` the domain has ended."""
    state = "its TXT record is missing" if ends else "it has ended"
    values = {
        "site_name": site_name,
        "site_url": site_url,
        "domain": domain,
        "record_name": record_name,
        "record_value": record_value,
        "ends": ends,
    }
    return Mail("domain_unproven", to, f"The domain of {site_name}: {state}", values)


def mailing_stopped(mailing: Mapping[str, Any], *, site_name: str, site_url: str, to: str) -> Mail:
    """To the owner of the site, about a mailing that was paused or has failed: each has its own
    templates."""
    values = {
        "site_name": site_name,
        "site_url": site_url,
        "mailing_url": f"{site_url}/admin/mailings/{mailing['id']}",
        "mailing_subject": mailing["subject"],
        "tried": mailing["sent"] + mailing["failed"],
        **{name: mailing[name] for name in ("reason", "sent", "bounced", "recipients")},
    }
    state = mailing["status"]
    what = {"paused": "was paused", "failed": "failed"}[state]
    return Mail(f"mailing_{state}", to, f"A newsletter of {site_name} {what}", values)


def test_mail(*, site_name: str, site_url: str, to: str) -> Mail:
    """To an owner who wants to know whether mails arrive."""
    return Mail(
        "test_mail",
        to,
        f"A test email from {site_name}",
        {"site_name": site_name, "site_url": site_url},
    )
