"""The endpoint of the events' description, which needs no key."""

from __future__ import annotations

from masthead.base.config.settings import Settings
from masthead.engine.records.registry import Registry
from masthead.web.answers import encode
from masthead.web.asyncapi.document import build_document
from masthead.web.dispatch import Route
from masthead.web.openapi.endpoints import StaticResponse
from masthead.web.v1.routes import PREFIX

DOCUMENT = f"{PREFIX}/asyncapi.json"


def event_description_routes(registry: Registry, settings: Settings) -> list[Route]:
    """Mount it before the API itself, which handles all other paths."""

    def document() -> bytes:
        return encode(build_document(registry, settings))

    return [StaticResponse(document, "application/json").at(DOCUMENT)]
