"""The emails about exports and deletions; their templates are `privacy_*` in the mail package."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import msgspec

from masthead.base.languages.moments import Moment
from masthead.base.languages.words import words
from masthead.engine.records.collection import Record
from masthead.features.privacy.receipts import Receipt
from masthead.features.privacy.validation import TENANT
from masthead.features.site.address import Site
from masthead.outside.mail.emails import write_email
from masthead.outside.mail.message import Mail


class Addressee(msgspec.Struct, frozen=True):
    email: str
    name: str = ""
    language: str = ""
    """As their account has it."""


def about(request: Record, site: Site, to: Addressee, template: str, **values: Any) -> Mail:
    whole_site = request["subject"] == TENANT
    language = {"language": to.language}
    own = site.for_staff(language) if whole_site else site.for_member(language)
    return write_email(template, own, to.email, name=to.name, whole_site=whole_site, **values)


def deletion_requested(
    request: Record, site: Site, to: Addressee, *, until: datetime, links: dict[str, str]
) -> Mail:
    """Its `confirm_link` is empty if the deletion has already taken effect."""
    is_site, name = request["subject"] == TENANT, site.name
    if links["confirm_link"] and is_site:
        subject = words("Confirm the deletion of %(site)s", site=name)
    elif links["confirm_link"]:
        subject = words("Confirm the deletion of your data at %(site)s", site=name)
    elif is_site:
        subject = words("Deletion planned: %(site)s", site=name)
    else:
        subject = words("Deletion planned: your data at %(site)s", site=name)
    values = {"subject": subject, "until": Moment(until), **links}
    return about(request, site, to, "privacy_deletion", **values)


def deletion_done(request: Record, site: Site, to: Addressee, receipt: Receipt) -> Mail:
    return about(
        request,
        site,
        to,
        "privacy_receipt",
        subject=(
            words("%(site)s has been deleted", site=site.name)
            if request["subject"] == TENANT
            else words("Your data at %(site)s has been deleted", site=site.name)
        ),
        request_id=request["id"],
        erased=receipt.erased_lines(),
        kept=receipt.kept_lines(),
    )
