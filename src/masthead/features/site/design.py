"""The design of a site, as fields of its settings: theme, fonts, layout, what stands around every
page, and code of its owner."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from msgspec.structs import replace

from masthead.base.config.settings import Settings
from masthead.base.errors import Invalid, Problem
from masthead.base.languages.words import staff_words
from masthead.engine.records.changes import Save
from masthead.engine.records.fields.base import Access, Field, FieldError, refuse
from masthead.engine.records.fields.documents import Json, TextList
from masthead.engine.records.fields.text import Text, Url, is_web_address
from masthead.engine.records.fields.values import Flag, Select, read_moment
from masthead.engine.records.registry import Registry
from masthead.features.site.appearance import Links

PLAIN: Final = "plain"
OUR_THEMES: Final = (PLAIN, "letter", "manual")
THEME_NAME: Final = re.compile(r"[a-z0-9][a-z0-9-]{0,39}", re.ASCII)
"""The name of a folder of the operator's that holds a theme."""
MAX_ANNOUNCEMENT: Final = 200
MAX_ADDRESS: Final = 2_000
MAX_CODE: Final = 20_000
CODE: Final = ("head_html", "foot_html")


class Theme(Text, frozen=True, kw_only=True):
    """The name of a theme that this installation has."""

    max: int = 60
    known: tuple[str, ...] = OUR_THEMES

    def parse(self, value: Any) -> str:
        name = super().parse(value)
        if name and name not in self.known:
            listed = ", ".join(self.known)
            message = staff_words("There is no such theme. Use one of %(names)s.", names=listed)
            raise refuse("validation_invalid_value", message)
        return name


def theme_names(folder: Path | None) -> tuple[str, ...]:
    """Our themes, and those of the operator's folder."""
    added = sorted(
        each.name
        for each in (folder.iterdir() if folder is not None and folder.is_dir() else ())
        if each.is_dir() and THEME_NAME.fullmatch(each.name)
    )
    return tuple(dict.fromkeys((*OUR_THEMES, *added)))


def with_themes(registry: Registry, settings: Settings) -> Registry:
    """The same collections, in which a site's theme is one that this installation has."""
    known = theme_names(settings.themes_dir)

    def bound(field: Field) -> Field:
        return replace(field, known=known) if isinstance(field, Theme) else field

    return registry.with_fields_bound("site_settings", bound)


class Announcement(Json, frozen=True, kw_only=True):
    """A line above every page: `text`, and optionally `url` and `until`."""

    max_bytes: int = 8 * 1024

    def parse(self, value: Any) -> Any:
        given = super().parse(value)
        if not isinstance(given, dict) or not {"text"} <= set(given) <= {"text", "url", "until"}:
            raise _refuse('Must be an object of "text", "url" and "until", or null.')
        text, url, until = given["text"], given.get("url"), given.get("until")
        if not isinstance(text, str) or not 0 < len(text.strip()) <= MAX_ANNOUNCEMENT:
            raise _refuse(
                staff_words("The text must have 1 to %(most)s characters.", most=MAX_ANNOUNCEMENT)
            )
        if url is not None and not _is_short_address(url):
            raise _refuse(
                staff_words(
                    "The url must be a full http or https URL, or a path that begins with /."
                )
            )
        moment = read_moment(until) if isinstance(until, str) else None
        if moment is None and until is not None:
            raise _refuse(staff_words("until must be a date such as 2026-11-14T09:30:00.123Z."))
        return {"text": " ".join(text.split()), "url": url, "until": moment}


def _is_short_address(value: object) -> bool:
    return isinstance(value, str) and len(value) <= MAX_ADDRESS and is_web_address(value)


class Profiles(TextList, frozen=True, kw_only=True):
    """Addresses of the site on other sites."""

    max_items: int = 12
    max_length: int = 300

    def _check_item(self, item: str) -> None:
        super()._check_item(item)
        if not is_web_address(item) or item.startswith("/"):
            raise _refuse(staff_words("Each must be a full http or https URL."))


def _refuse(message: str) -> FieldError:
    return refuse("validation_invalid_format", message)


DESIGN: Final[tuple[Field, ...]] = (
    Theme(
        name="theme",
        help="The theme of the site: `plain`, a magazine; `letter`, a personal newsletter in one "
        "column; `manual`, documentation with its pages at the side; or one of the operator's. "
        "Empty is `plain`.",
    ),
    Select(
        name="fonts",
        values=("serif", "sans", "mixed", "mono"),
        help="The fonts of the site: a serif for everything, a sans serif for everything, a serif "
        "for texts with a sans serif around them, or the monospaced font of the reader's device. "
        "If empty, those of the theme.",
    ),
    Select(
        name="width",
        values=("narrow", "normal", "wide"),
        help="How wide texts and pages are. If empty, as wide as the theme has them.",
    ),
    Select(
        name="home_layout",
        values=("lead", "grid", "list"),
        help="How the home page shows posts: the newest one large, all of them with pictures in a "
        "grid, or a list. If empty, as the theme does.",
    ),
    Text(name="footer_text", max=1000, help="Shown at the end of every page. Plain text."),
    Links(
        name="footer_links",
        help="More links at the end of every page: a list of objects with `label` and `url`.",
    ),
    Profiles(
        name="social",
        help="The addresses of the site on other sites, such as Mastodon or YouTube. The end of "
        "every page links to them.",
    ),
    Announcement(
        name="announcement",
        help="A line above every page: an object with `text` and, if you like, `url` and `until`, "
        "the moment at which it goes. Null for none.",
    ),
    Url(name="site_logo_dark", help="The logo on dark pages. If empty, `site_logo`."),
    Flag(
        name="code_allowed",
        write=Access.PLATFORM,
        help="Whether the operator allows `head_html` and `foot_html`: `masthead tenant "
        "allow-code`.",
    ),
    *(
        Text(
            name=name,
            max=MAX_CODE,
            write=Access.ADMIN,
            help=f"HTML {where} of the site's pages, scripts included. Only while the operator "
            "allows it; never on pages for members, drafts and signed-in staff.",
        )
        for name, where in zip(CODE, ("in the head", "at the end"), strict=True)
    ),
)


_NOT_ALLOWED = Problem(
    "validation_not_allowed",
    staff_words("The operator of this installation has not allowed code on this site."),
)


def check_code(save: Save) -> None:
    """Raises Invalid for new code on a site that may have none."""
    old: Mapping[str, Any] = save.old or {}
    new = save.new
    refused = [] if new["code_allowed"] else [name for name in CODE if new[name]]
    problems = {name: _NOT_ALLOWED for name in refused if new[name] != old.get(name)}
    if problems:
        raise Invalid(problems)


def site_name_of(address: str) -> str:
    """The name of the site that a profile is on, for a link to it."""
    parts = urlsplit(address)
    host = (parts.hostname or "").removeprefix("www.")
    known = _KNOWN_SITES.get(host)
    if known is None and parts.path.startswith("/@"):
        # Anyone can host it; its profiles begin so.
        return "Mastodon"
    return known or host


_KNOWN_SITES: Final = {
    "bsky.app": "Bluesky",
    "facebook.com": "Facebook",
    "github.com": "GitHub",
    "gitlab.com": "GitLab",
    "instagram.com": "Instagram",
    "linkedin.com": "LinkedIn",
    "medium.com": "Medium",
    "pinterest.com": "Pinterest",
    "reddit.com": "Reddit",
    "t.me": "Telegram",
    "threads.com": "Threads",
    "threads.net": "Threads",
    "tiktok.com": "TikTok",
    "twitch.tv": "Twitch",
    "twitter.com": "X",
    "vimeo.com": "Vimeo",
    "x.com": "X",
    "youtube.com": "YouTube",
}
