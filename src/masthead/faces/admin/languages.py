"""The languages of the site, as forms offer them for a text or a member."""

from __future__ import annotations

from masthead.base.languages.formats import language_name
from masthead.base.languages.words import words
from masthead.content.texts.languages import editions_of
from masthead.faces.admin.request import AdminRequest


def language_choices(request: AdminRequest, chosen: str) -> dict[str, str]:
    """The names by tag, each in its own language; none for a site with one language, unless
    another one was `chosen` by a program."""
    own, *others = editions_of(request.site_record).values()
    if not others and not chosen:
        return {}
    tags = dict.fromkeys([own, *others, *([chosen] if chosen else [])])
    return {"": words("The site’s own"), **{tag: language_name(tag) for tag in tags}}
