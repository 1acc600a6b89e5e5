"""Small standalone HTML pages: for links in emails, and for errors in a browser.

A page needs no script and no further request, and its form posts to the page's own URL.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Awaitable, Callable
from pathlib import Path

import msgspec
from jinja2 import Environment, FileSystemLoader
from markupsafe import Markup
from msgspec.structs import replace

from masthead.base import errors
from masthead.base.errors import MastheadError
from masthead.base.languages.translators import (
    accepted_language,
    direction_of,
    speaking,
    translator_of,
)
from masthead.base.languages.words import words
from masthead.web.answers import Answer, RawHeaders, json_answer
from masthead.web.errors import InternalError, MethodNotAllowed, retry_after
from masthead.web.request import Request
from masthead.web.template_source import PAGE_OPTIONS

_HERE = Path(__file__).parent


class Input(msgspec.Struct, frozen=True):
    """A form input; `autocomplete` is for password managers."""

    name: str
    label: str
    kind: str
    autocomplete: str


class Page(msgspec.Struct, frozen=True):
    """A heading, a few sentences, and at most one form."""

    outcome: str
    """The `status` for a client that accepts JSON instead."""
    title: str
    text: tuple[str, ...]
    button: str = ""
    site_name: str = ""
    site_url: str = ""
    language: str = "en"
    """The site's, in which the page speaks."""
    status: int = 200
    inputs: tuple[Input, ...] = ()
    link: tuple[str, str] = ("", "")
    """Words and address."""


MakePage = Callable[[], Awaitable[Page]]
ShowPage = Callable[[Request, MakePage], Awaitable[Answer]]
"""Answers with the page, in the look of a site."""

# The first matching row counts.
ERRORS: tuple[tuple[type[MastheadError], int, str, str], ...] = (
    (errors.Invalid, 400, "bad_request", words("That did not work")),
    (errors.BadRequest, 400, "bad_request", words("That did not work")),
    (errors.Unauthenticated, 401, "unauthorized", words("Please sign in")),
    (errors.SiteSuspended, 403, "forbidden", words("This site is not available")),
    (errors.Forbidden, 403, "forbidden", words("This is not allowed")),
    (errors.NotFound, 404, "not_found", words("There is nothing here")),
    (MethodNotAllowed, 405, "method_not_allowed", words("This address does not support that")),
    (errors.PlanTooSmall, 403, "forbidden", words("The plan does not include this")),
    (errors.WrongState, 409, "conflict", words("This is not possible now")),
    (errors.Conflict, 409, "conflict", words("Something changed meanwhile")),
    (errors.HeadTooLarge, 431, "too_large", words("That is too much")),
    (errors.TooLarge, 413, "too_large", words("That is too much")),
    (errors.RateLimited, 429, "rate_limited", words("Please wait a moment")),
    (errors.StatementTimeout, 503, "unavailable", words("Please try again")),
    (errors.Unavailable, 503, "unavailable", words("Please try again")),
    (InternalError, 500, "internal_error", words("Something went wrong")),
)


def wants_html(request: Request) -> bool:
    """True for browsers and mail scanners."""
    return "text/html" in (request.header(b"accept") or "").lower()


def prefers_markdown(request: Request) -> bool:
    """True for programs that name Markdown, and before HTML if they name that too."""
    before, found, _ = (request.header(b"accept") or "").lower().partition("text/markdown")
    return bool(found) and "text/html" not in before


def wants_json(request: Request) -> bool:
    return "json" in (request.header(b"accept") or "").lower() and not wants_html(request)


def page_answer(request: Request, page: Page) -> Answer:
    """The page, or its content as JSON for a client that accepts only that."""
    if wants_json(request):
        body = {"status": page.outcome, "message": " ".join(page.text)}
        return json_answer(page.status, body, _PRIVATE)
    return _html(page)


async def error_answer(request: Request, error: MastheadError) -> Answer:
    """The error response of paths for browsers: see `app.error_responders`."""
    status, code, title = described(error)
    headers = retry_after(status, error)
    if isinstance(error, MethodNotAllowed):
        headers.append((b"allow", ", ".join(error.allowed).encode()))
    if wants_json(request):
        body = {"status": status, "code": code, "message": str(error), "data": {}}
        return json_answer(status, body, (*_PRIVATE, *headers))
    language = accepted_language(request.header(b"accept-language") or "")
    page = Page(code, title, (error.args[0],), language=language, status=status)
    if isinstance(error, errors.SiteSuspended):
        page = replace(page, text=SUSPENDED, link=(words("Your account"), ACCOUNT))
    return _html(page, headers)


SUSPENDED = (
    words("It is suspended at the moment."),
    words("Members can still sign in to cancel a paid tier, and to download or delete their data."),
)
ACCOUNT = "/member/account"


def described(error: MastheadError) -> tuple[int, str, str]:
    """The status, code and title of an error."""
    return next(
        ((status, code, title) for kind, status, code, title in ERRORS if isinstance(error, kind)),
        (500, "internal_error", words("Something went wrong")),
    )


def _html(page: Page, headers: RawHeaders | tuple[()] = ()) -> Answer:
    # Also for HEAD, whose headers are those of GET: the server leaves the body out.
    translator = translator_of(page.language)
    values = {"language": translator.spoken, "direction": direction_of(translator.spoken)}
    with speaking(translator):
        body = _template.render(page=page, style=_style, **values).encode()
    return Answer(page.status, body, [*_HTML, *_PRIVATE, *headers])


_style = Markup((_HERE / "static" / "page.css").read_text())  # noqa: S704  (a file of ours)
_template = Environment(
    loader=FileSystemLoader(_HERE / "templates"),
    autoescape=True,
    **PAGE_OPTIONS,
).get_template("page.html")

_style_hash = base64.b64encode(hashlib.sha256(_style.encode()).digest()).decode()
_policy = (
    f"default-src 'none'; style-src 'sha256-{_style_hash}'; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'"
)
# The URLs hold tokens, so they must not be cached, sent as a referrer or indexed.
_PRIVATE: RawHeaders = [
    (b"cache-control", b"no-store"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-robots-tag", b"noindex, nofollow"),
    (b"x-content-type-options", b"nosniff"),
    (b"vary", b"Accept"),
]
_HTML: RawHeaders = [
    (b"content-type", b"text/html; charset=utf-8"),
    (b"content-security-policy", _policy.encode()),
]
