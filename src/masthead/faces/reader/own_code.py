"""Code of a site's owner, in the head and at the end of its pages, where the operator allows it.

Only pages that guests can read have it. Pages for members, drafts, previews and the pages of
signed-in staff don't: code could read their addresses, or act with the sign-in. Inline scripts are
named in the policy of the page by their hash, so that no other inline script runs.
"""

from __future__ import annotations

from base64 import b64encode
from functools import lru_cache
from hashlib import sha256
from html.parser import HTMLParser

from markupsafe import Markup

from masthead.base.caller import Audience
from masthead.faces.reader.request import SiteRequest
from masthead.faces.reader.site import NO_CODE
from masthead.faces.reader.views import Code

_TEMPLATES = frozenset({"home.html", "list.html", "post.html", "page.html", "archive.html"})


def code_for(request: SiteRequest, template: str) -> Code:
    record = request.site_record
    if not record["code_allowed"] or template not in _TEMPLATES:
        return NO_CODE
    if request.tenant.is_suspended or request.is_preview or request.audience >= Audience.STAFF:
        return NO_CODE
    # Browsers read line ends so before they compare a script with its hash.
    head, foot = (
        record[name].replace("\r\n", "\n").replace("\r", "\n")
        for name in ("head_html", "foot_html")
    )
    return Code(Markup(head), Markup(foot)) if head or foot else NO_CODE  # noqa: S704  (the owner's)


def script_hashes(code: Code) -> tuple[str, ...] | None:
    """The sources of inline scripts for the page's policy; None for a page without code."""
    return _hashes(code.head, code.foot) if code.head or code.foot else None


@lru_cache(maxsize=256)
def _hashes(*parts: str) -> tuple[str, ...]:
    found: dict[str, None] = {}
    for part in parts:
        scripts = _InlineScripts()
        scripts.feed(part)
        scripts.close()
        found.update(dict.fromkeys(scripts.found))
    return tuple(f"'sha256-{b64encode(sha256(each.encode()).digest()).decode()}'" for each in found)


class _InlineScripts(HTMLParser):
    """A script that this reads otherwise than a browser has another hash, and does not run."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=False)
        self.found: list[str] = []
        self._open: list[str] | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "script" and not any(name == "src" for name, _ in attrs):
            self._open = []

    def handle_data(self, data: str) -> None:
        if self._open is not None:
            self._open.append(data)

    def handle_endtag(self, tag: str) -> None:
        if tag == "script" and self._open is not None:
            self.found.append("".join(self._open))
            self._open = None
