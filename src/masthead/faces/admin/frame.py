"""The frame around the content of every page of the admin."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from urllib.parse import urlsplit

import msgspec

from masthead.base.caller import Kind
from masthead.base.languages.words import words
from masthead.engine.records.collection import Record
from masthead.faces.admin.flash import NOTHING, Flash
from masthead.faces.admin.navigation import Group, Link, bottom_of, groups_of
from masthead.faces.admin.request import AdminRequest

_ROLES = {
    Kind.OWNER: words("Owner"),
    Kind.EDITOR: words("Editor"),
    Kind.AUTHOR: words("Author"),
    Kind.CONTRIBUTOR: words("Contributor"),
    Kind.OPERATOR: words("Operator"),
}


class Frame(msgspec.Struct, frozen=True):
    title: str
    site_name: str
    site_url: str
    """Empty for an operator who has not chosen a site."""
    site_host: str
    language: str
    """The language of the words around the content."""
    local: Callable[[str], datetime]
    """Puts a stored moment into the site's time zone."""
    now: datetime
    path: str
    address: str
    theme: str
    has_single_keys: bool
    form_token: str
    page_owner: str
    """The value that scripts send with their calls; see `AdminRequest.page_owner`."""
    flash: Flash
    request_id: str
    is_signed_in: bool
    is_operator: bool
    read_only: str
    """Until when nothing can be changed; empty for a site that can be."""
    is_suspended: bool
    name: str
    initials: str
    role: str
    groups: tuple[Group, ...]
    bottom: tuple[Link, ...]


def frame_of(request: AdminRequest, title: str, flash: Flash = NOTHING) -> Frame:
    is_signed_in = request.is_signed_in
    site_url = request.site_url if request.site is not None else ""
    name = str(request.account.get("name") or request.account.get("email", ""))
    return Frame(
        title=title,
        site_name=request.site_name,
        site_url=site_url,
        site_host=urlsplit(site_url or request.site_url).netloc,
        language=request.language,
        local=request.local,
        now=request.now,
        path=request.path,
        address=request.address,
        theme=request.theme,
        has_single_keys=request.has_single_keys,
        form_token=(request.services.form_tokens.of(request.form_binding) if is_signed_in else ""),
        page_owner=request.page_owner if is_signed_in else "",
        flash=flash,
        request_id=request.context.id,
        is_signed_in=is_signed_in,
        is_operator=request.is_operator,
        read_only=_read_only(request.site_record),
        is_suspended=request.site is not None and request.site.is_suspended,
        name=name,
        initials=_initials(name),
        role=_ROLES.get(request.caller.kind, ""),
        groups=groups_of(request) if is_signed_in else (),
        bottom=bottom_of(request) if is_signed_in else (),
    )


def _read_only(site: Record) -> str:
    if site.get("deleted_at"):
        return words(
            "It will be deleted. Until then, an owner can cancel the deletion under Settings, "
            "Data protection."
        )
    if site.get("read_only_mode"):
        return words("Nothing can be changed until the operator reopens it.")
    return ""


def _initials(name: str) -> str:
    names = name.partition("@")[0].replace(".", " ").split()
    if len(names) > 1:
        names = [names[0], names[-1]]
    return "".join(each[0] for each in names).upper()
