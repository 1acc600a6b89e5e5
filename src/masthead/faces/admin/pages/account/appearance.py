"""Light or dark, and whether single keys do something: kept in cookies of the browser."""

from __future__ import annotations

from masthead.base.languages.words import words
from masthead.faces.admin.endpoint import Answer, Redirect
from masthead.faces.admin.flash import admin_cookie
from masthead.faces.admin.pages.account.sign_in import only_ours
from masthead.faces.admin.request import KEYS_COOKIE, THEME_COOKIE, THEMES, AdminRequest

_YEAR = 365 * 24 * 3600


async def choose_theme(request: AdminRequest) -> Answer:
    """Without a choice it is the device's own."""
    chosen = request.form.get("theme", "")
    value, seconds = (chosen, _YEAR) if chosen in THEMES else ("", 0)
    return _back(
        request, admin_cookie(THEME_COOKIE, value, seconds=seconds, is_https=_https(request))
    )


async def choose_keys(request: AdminRequest) -> Answer:
    value, seconds = ("", 0) if "single_keys" in request.form else ("off", _YEAR)
    sentence = words("Single keys are on.") if not value else words("Single keys are off.")
    cookie = admin_cookie(KEYS_COOKIE, value, seconds=seconds, is_https=_https(request))
    return _back(request, cookie, sentence)


def _back(request: AdminRequest, cookie: str, sentence: str = "") -> Redirect:
    return Redirect(only_ours(request.form.get("next", "")), sentence, (cookie,))


def _https(request: AdminRequest) -> bool:
    return request.context.is_https
