"""The design of the site: its theme with a preview, fonts, links, the parts around every page,
logos, and code."""

from __future__ import annotations

from typing import Any, Final

from masthead.base.caller import Audience, Reader
from masthead.base.languages.words import words
from masthead.engine.records.collection import Record
from masthead.engine.records.fields.base import FieldError
from masthead.faces.admin.endpoint import Answer, Framed, Redirect
from masthead.faces.admin.forms import Ask, Form, Widget, sentence_of
from masthead.faces.admin.moments import read_moment, typed_moment
from masthead.faces.admin.pages.settings.accents import accents_of
from masthead.faces.admin.pages.settings.subnav import DESIGN, in_settings
from masthead.faces.admin.request import AdminRequest
from masthead.features.site.collection import site_settings
from masthead.features.site.design import MAX_ANNOUNCEMENT, PLAIN

_THEMES = {
    "plain": (
        words("Magazine"),
        words("A large newest story, pictures, the name across the page."),
    ),
    "letter": (
        words("Letter"),
        words("One column for a personal newsletter, with a form to join on top."),
    ),
    "manual": (words("Manual"), words("Documentation: the pages at the side, search first.")),
}
_OWN = words("A theme of this installation.")
_LOOK = (
    Ask(
        "fonts",
        words("Fonts"),
        words("They come from your own site; no page asks another one for them."),
        choices={
            "": words("As the theme has them"),
            "mixed": words("Serif for texts, sans serif around them"),
            "serif": words("Serif"),
            "sans": words("Sans serif"),
            "mono": words("Monospaced, the reader’s own"),
        },
    ),
    Ask(
        "width",
        words("Width"),
        words("Of texts and pages."),
        choices={
            "": words("As the theme has it"),
            "narrow": words("Narrow"),
            "normal": words("Normal"),
            "wide": words("Wide"),
        },
    ),
    Ask(
        "home_layout",
        words("Home page"),
        words("How it shows the posts."),
        choices={
            "": words("As the theme does"),
            "lead": words("The newest one large"),
            "grid": words("A grid with pictures"),
            "list": words("A list"),
        },
    ),
)
_COLOR = (
    Ask(
        "accent_color",
        words("Colour of links"),
        words("A colour such as #8f1d2c. If empty, the theme's own."),
    ),
)
_LINKS = (
    Ask(
        "navigation",
        words("Links at the top of every page"),
        words("In this order. Clear both fields of a link to remove it."),
    ),
)
_FOOTER = (
    Ask("footer_text", words("Text at the end of every page"), words("Plain text."), rows=3),
    Ask("footer_links", words("Links at the end of every page"), words("In this order.")),
    Ask(
        "social",
        words("Your addresses on other sites"),
        words("One in each line, such as https://social.example.com/@you."),
        rows=3,
    ),
)
_CODE = (
    Ask("head_html", words("In the head"), words("Such as the script of a counter."), rows=4),
    Ask("foot_html", words("At the end of the page"), words("Such as a widget."), rows=4),
)
_CODE_FORM = Form(site_settings, _CODE)
_ANNOUNCEMENT: Final = "announcement"

_PICTURES = (
    {
        "which": "logo",
        "field": "site_logo",
        "title": words("Logo"),
        "without": words("Without one, the site shows its name."),
        "help": words("Shown instead of the name, at most 160 by 32 pixels on most pages."),
    },
    {
        "which": "logo-dark",
        "field": "site_logo_dark",
        "title": words("Logo for dark pages"),
        "without": words("Without one, dark pages show the same logo."),
        "help": words("For readers whose device is set to dark."),
    },
    {
        "which": "favicon",
        "field": "site_favicon",
        "title": words("Icon"),
        "without": words("Without one, browsers show their default icon."),
        "help": words("Shown in the browser tab. A square PNG, SVG or ICO."),
    },
)


def _form(request: AdminRequest) -> Form:
    themes = request.tools.previews.services.themes.names()
    names = {name: _THEMES[name][0] if name in _THEMES else name for name in themes}
    theme = Ask("theme", words("Theme"), choices=names)
    return Form(site_settings, (theme, *_LOOK, *_COLOR, *_LINKS, *_FOOTER))


async def design_page(request: AdminRequest) -> Answer:
    record: Record = request.site_record
    labels = {each["field"]: each["title"] for each in _PICTURES} | {
        _ANNOUNCEMENT: words("Announcement"),
        **{ask.name: ask.label for ask in _CODE},
    }
    form = _form(request).values(
        request, record | {"theme": record["theme"] or PLAIN}, labels=labels
    )
    values = {
        **form,
        "about_themes": {
            each.value: _THEMES.get(each.value, ("", _OWN))[1]
            for each in form["fields"]["theme"].choices
        },
        "look": [ask.name for ask in _LOOK],
        "footer": [ask.name for ask in _FOOTER],
        "announcement": _announcement_widgets(request),
        "announcement_error": sentence_of(request.problems.get(_ANNOUNCEMENT)),
        "accents": accents_of(form["fields"]["accent_color"].value),
        "pictures": [each | {"url": record[each["field"]]} for each in _PICTURES],
        "code_allowed": record["code_allowed"],
        "has_code": any(record[ask.name] for ask in _CODE),
        "code": _CODE_FORM.values(request, record)["fields"],
        "address": DESIGN,
    }
    return in_settings(request, "design.html", words("Design"), values)


async def save_design(request: AdminRequest) -> Answer:
    # From the registry, because its validators know the themes of this installation.
    collection = request.records.registry[site_settings.name]
    given = _given(request)
    await request.records.update(request.caller, collection, request.site_record["id"], given)
    return Redirect(DESIGN, words("Saved. The change is live."))


async def save_code(request: AdminRequest) -> Answer:
    given = _CODE_FORM.given(request)
    await request.records.update(request.caller, site_settings, request.site_record["id"], given)
    return Redirect(f"{DESIGN}#code", words("Saved. The change is live."))


async def design_preview(request: AdminRequest) -> Answer:
    """The site as a guest would see it with the values of the form, which are not saved. A value
    that can't be saved is left out: saving says why."""
    collection = request.records.registry[site_settings.name]
    tried: Record = request.site_record | {}
    for name, value in (_given(request, is_preview=True) if request.form else {}).items():
        try:
            tried[name] = collection.by_name[name].check(value)
        except FieldError:
            continue
    body = await request.tools.previews.site(
        request.context,
        request.tenant,
        Reader(Audience.GUEST),
        settings=tried,
        shows_post=request.form.get("shown") == "post",
    )
    return Framed(body)


def _given(request: AdminRequest, *, is_preview: bool = False) -> dict[str, Any]:
    """Raises Invalid for a moment that is none."""
    form = request.form
    given = _form(request).given(request)
    if "announcement_text" not in form:
        return given
    text, until = form["announcement_text"].strip(), form.get("announcement_until", "")
    if is_preview or not until:
        moment = None
    else:
        moment = read_moment(request, _ANNOUNCEMENT, until)
    url = form.get("announcement_url", "").strip() or None
    given[_ANNOUNCEMENT] = {"text": text, "url": url, "until": moment} if text or url else None
    return given


def _announcement_widgets(request: AdminRequest) -> dict[str, Any]:
    stored, form = request.site_record[_ANNOUNCEMENT] or {}, request.form
    shown = {
        "announcement_text": stored.get("text", ""),
        "announcement_url": stored.get("url") or "",
        "announcement_until": typed_moment(request, stored.get("until") or ""),
    }
    if request.problems and "announcement_text" in form:
        shown = {name: form.get(name, "") for name in shown}
    text, url, until = shown
    return {
        "text": Widget(text, words("Text"), "text", shown[text], max=MAX_ANNOUNCEMENT),
        "url": Widget(url, words("Link"), "url", shown[url], words("If empty, the text has none.")),
        "until": {"name": until, "value": shown[until], "zone": str(request.time_zone)},
    }
