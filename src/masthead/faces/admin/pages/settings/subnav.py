"""The frame of the settings: their pages with links to each other."""

from __future__ import annotations

from typing import Any

from masthead.base.languages.words import words
from masthead.faces.admin.endpoint import Page
from masthead.faces.admin.navigation import IN_SETTINGS
from masthead.faces.admin.request import AdminRequest

SETTINGS = "/admin/settings"
DESIGN = f"{SETTINGS}/design"
DOMAIN = f"{SETTINGS}/domain"
KEYS = f"{SETTINGS}/keys"
SIGN_IN = f"{SETTINGS}/sign-in"

PAYMENTS = f"{SETTINGS}/payments"
AI = f"{SETTINGS}/ai"
MAIL = f"{SETTINGS}/mail"
SENDING = f"{SETTINGS}/sending"
NEWSLETTERS = f"{SETTINGS}/newsletters"
WELCOME = f"{SETTINGS}/welcome"
PRIVACY = f"{SETTINGS}/privacy"

SECTIONS = (
    (words("Site"), SETTINGS),
    (words("Design"), DESIGN),
    (words("Domain"), DOMAIN),
    (words("Keys"), KEYS),
    (words("Sign-in"), SIGN_IN),
    (words("Payments"), PAYMENTS),
    (words("AI"), AI),
    (words("Newsletters"), NEWSLETTERS),
    (words("Welcome emails"), WELCOME),
    (words("Email"), MAIL),
    (words("Sending domain"), SENDING),
    (words("Data protection"), PRIVACY),
)
"""In the order of their links."""


def in_settings(request: AdminRequest, template: str, title: str, values: dict[str, Any]) -> Page:
    links = [(label, url, _is_at(request.path, url)) for label, url in SECTIONS]
    links += [(each.label, each.url, False) for each in IN_SETTINGS]
    return Page(f"settings/{template}", title, {"sections": links, **values})


def _is_at(path: str, url: str) -> bool:
    return path == url or (url != SETTINGS and path.startswith(f"{url}/"))
