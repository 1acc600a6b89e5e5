"""The form for what is imported from an export: the options that the command line has as flags."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec.structs import replace

from masthead.base.errors import Invalid, Problem
from masthead.base.languages.words import words
from masthead.faces.importers.source import Options, site_url_of

ALL, CHOSEN, MEMBERS = "all", "chosen", "members"
PARTS = {
    ALL: words("Everything"),
    CHOSEN: words("Posts, and what you select"),
    MEMBERS: words("Members only"),
}


class _Box(msgspec.Struct, frozen=True):
    """A part that is imported beside the posts where its box is ticked."""

    label: str
    platforms: tuple[str, ...] = ("wordpress", "ghost", "substack")
    note: str = ""


WITH_MEMBERS = "with_members"
BOXES: Mapping[str, _Box] = {
    "include_pages": _Box(words("Pages")),
    WITH_MEMBERS: _Box(words("Members"), ("ghost", "substack"), "Ghost, Substack"),
    "include_comments": _Box(words("Comments"), ("wordpress", "ghost"), "WordPress, Ghost"),
    "include_authors": _Box(
        words("Authors, as staff who can’t sign in yet"), ("wordpress", "ghost"), "WordPress, Ghost"
    ),
    "include_products": _Box(words("Products"), ("wordpress",), "WordPress"),
    "include_unpublished": _Box(
        words("Private and pending posts, as drafts, and scheduled ones, as scheduled")
    ),
}
_INCLUDED = tuple(name for name in BOXES if name != WITH_MEMBERS)
EVERYTHING = Options(
    include_pages=True,
    include_comments=True,
    include_authors=True,
    include_products=True,
    include_unpublished=True,
)
NEW = EVERYTHING
"""The options of a new import, in which each can be changed."""


class OptionsForm(msgspec.Struct, frozen=True):
    """The values of the form. `site_url` is as typed."""

    boxes: tuple[tuple[str, str, str, bool], ...]
    """Name, label, the platforms that have it, and whether it is ticked."""
    parts: tuple[tuple[str, str, bool], ...]
    site_url: str
    error: str = ""
    """About the address."""
    consent: str = ""


def options_form(
    options: Options, platform: str = "", *, site_url: str | None = None, error: str = ""
) -> OptionsForm:
    """`platform` leaves out what its exports never have. `site_url` is what was typed."""
    ticked = {name: getattr(options, name) for name in _INCLUDED}
    ticked[WITH_MEMBERS] = not options.skip_members
    boxes = tuple(
        (name, box.label, "" if platform else box.note, ticked[name])
        for name, box in BOXES.items()
        if not platform or platform in box.platforms
    )
    is_all = all(is_ticked for _, _, _, is_ticked in boxes)
    chosen = MEMBERS if options.skip_posts else ALL if is_all else CHOSEN
    parts = tuple(
        (name, label, name == chosen)
        for name, label in PARTS.items()
        if platform != "wordpress" or name != MEMBERS
    )
    shown_url = options.site_url if site_url is None else site_url
    return OptionsForm(boxes, parts, shown_url, error, options.consent)


def options_of(form: Mapping[str, str]) -> Options:
    """Raises `Invalid` for an address that is none."""
    site_url = site_url_of(form.get("site_url", ""))
    if site_url is None:
        problem = Problem("validation_invalid_url", words("Begin with http:// or https://."))
        raise Invalid({"site_url": problem})
    return chosen_options(form, site_url)


def chosen_options(form: Mapping[str, str], site_url: str = "") -> Options:
    consent = " ".join(form.get("consent", "").split())[:400]
    part = form.get("part", CHOSEN if any(name in form for name in BOXES) else ALL)
    if part == ALL:
        return replace(EVERYTHING, site_url=site_url, consent=consent)
    if part == MEMBERS:
        return Options(site_url=site_url, skip_posts=True, consent=consent)
    return Options(
        site_url=site_url,
        consent=consent,
        skip_members=WITH_MEMBERS not in form,
        **{name: name in form for name in _INCLUDED},
    )


def stored_options(stored: Mapping[str, Any] | None) -> Options:
    """The options in a run's field `options`, which has more."""
    names = set(Options.__struct_fields__)
    return Options(**{name: value for name, value in (stored or {}).items() if name in names})
