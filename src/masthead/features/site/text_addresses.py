"""The address of a text on the site, as the public API shows it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final
from urllib.parse import quote

from masthead.base import clock
from masthead.content.texts.languages import EDITION, root_of
from masthead.content.texts.publication import PUBLISHED
from masthead.engine.records.collection import Record
from masthead.engine.records.fields.text import Text
from masthead.features.site.address import site_url
from masthead.web.v1.call import Call

URL: Final = Text(
    name="url",
    max=2_000,
    help="The address on the site, for everyone to open. Null while there is none.",
)


def with_url(
    call: Call, prefix: str, is_open: Callable[[Record], bool]
) -> Callable[[Record], Record]:
    """Adds it to the records of a call. `is_open`: everyone may read the text, once it is out."""
    tenant, settings = call.tenant, call.services.settings
    start = site_url(settings, tenant.slug, tenant.custom_domain)
    now = clock.to_text(call.records.clock())

    def shown(text: Record) -> Record:
        is_published = text["status"] == PUBLISHED and is_open(text)
        if is_published and text["published_at"] > now:
            # From that moment it has an address, without another change.
            call.holds = is_published = False
        path = f"{root_of(text[EDITION.name])}{prefix}{quote(text['slug'])}"
        return {**text, URL.name: start + path if is_published else ""}

    return shown
