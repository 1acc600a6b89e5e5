"""What to import of an export, as a form: the options that the command line has as flags."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from masthead.errors import Invalid, Problem
from masthead.importers.source import Options, site_url_of

BOTH, POSTS, MEMBERS = "both", "posts", "members"
PARTS = {BOTH: "Everything", POSTS: "Posts only", MEMBERS: "Members only"}


@dataclass(frozen=True, slots=True)
class _Box:
    """A part that is imported where its box is ticked."""

    label: str
    platforms: tuple[str, ...] = ("wordpress", "ghost", "substack")
    note: str = ""


BOXES: Mapping[str, _Box] = {
    "include_pages": _Box("Pages"),
    "include_comments": _Box("Comments", ("wordpress",), "WordPress"),
    "include_authors": _Box(
        "Authors, as staff who can’t sign in yet", ("wordpress", "ghost"), "WordPress, Ghost"
    ),
    "include_products": _Box("Products", ("wordpress",), "WordPress"),
}
NEW = Options(include_pages=True)
"""Of a new import, in which each can be changed."""


@dataclass(frozen=True, slots=True)
class OptionsForm:
    """The values of the form. `site_url` is as typed."""

    boxes: tuple[tuple[str, str, str, bool], ...]
    """Name, label, the platforms that have it, and whether it is ticked."""
    parts: tuple[tuple[str, str, bool], ...]
    site_url: str
    error: str = ""
    """About the address."""


def options_form(
    options: Options, platform: str = "", *, site_url: str | None = None, error: str = ""
) -> OptionsForm:
    """`platform` leaves out what its exports never have. `site_url` is what was typed."""
    boxes = tuple(
        (name, box.label, "" if platform else box.note, getattr(options, name))
        for name, box in BOXES.items()
        if not platform or platform in box.platforms
    )
    chosen = MEMBERS if options.skip_posts else POSTS if options.skip_members else BOTH
    parts = tuple((name, label, name == chosen) for name, label in PARTS.items())
    return OptionsForm(
        boxes,
        () if platform == "wordpress" else parts,
        options.site_url if site_url is None else site_url,
        error,
    )


def options_of(form: Mapping[str, str]) -> Options:
    """Raises `Invalid` for an address that is none."""
    site_url = site_url_of(form.get("site_url", ""))
    if site_url is None:
        problem = Problem("validation_invalid_url", "Begin with http:// or https://.")
        raise Invalid({"site_url": problem})
    return chosen_options(form, site_url)


def chosen_options(form: Mapping[str, str], site_url: str = "") -> Options:
    part = form.get("part", BOTH)
    return Options(
        site_url=site_url,
        skip_posts=part == MEMBERS,
        skip_members=part == POSTS,
        **{name: name in form for name in BOXES},
    )


def stored_options(stored: Mapping[str, Any] | None) -> Options:
    """Of a run's field `options`, which has more."""
    names = {each.name for each in fields(Options)}
    return Options(**{name: value for name, value in (stored or {}).items() if name in names})
