"""The emails about exports and deletions; their templates are `privacy_*` in the mail package."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import msgspec

from masthead.features.site.address import Site
from masthead.outside.mail.message import Mail


class Addressee(msgspec.Struct, frozen=True):
    email: str
    name: str = ""


def export_ready(
    site: Site, to: Addressee, *, whole_site: bool, link: str, until: datetime
) -> Mail:
    return Mail(
        "privacy_export_ready",
        to.email,
        f"Your data from {site.name} is ready",
        {**_common(site, to, whole_site), "link": link, "until": _day(until)},
        to_name=to.name,
    )


def deletion_requested(
    site: Site,
    to: Addressee,
    *,
    whole_site: bool,
    grace_until: datetime,
    confirm_link: str,
    cancel_link: str,
) -> Mail:
    """`confirm_link` is empty if the deletion has already taken effect."""
    subject = "Confirm the deletion of" if confirm_link else "Deletion planned:"
    what = site.name if whole_site else f"your data at {site.name}"
    values = {
        **_common(site, to, whole_site),
        "until": _day(grace_until),
        "confirm_link": confirm_link,
        "cancel_link": cancel_link,
    }
    return Mail("privacy_deletion", to.email, f"{subject} {what}", values, to_name=to.name)


def deletion_done(
    site: Site,
    to: Addressee,
    *,
    whole_site: bool,
    request_id: str,
    erased: Sequence[str],
    kept: Sequence[str],
) -> Mail:
    what = site.name if whole_site else f"Your data at {site.name}"
    values = {
        **_common(site, to, whole_site),
        "request_id": request_id,
        "erased": list(erased),
        "kept": list(kept),
    }
    return Mail("privacy_receipt", to.email, f"{what} has been deleted", values, to_name=to.name)


def _common(site: Site, to: Addressee, whole_site: bool) -> dict[str, object]:
    return {
        "site_name": site.name,
        "site_url": site.url,
        "name": to.name,
        "whole_site": whole_site,
    }


def _day(moment: datetime) -> str:
    return f"{moment.day} {moment:%B %Y, %H:%M} UTC"
