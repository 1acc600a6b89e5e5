"""The events' description under `/api/v1`, which needs no key."""

from __future__ import annotations

from starlette.routing import Route as Mounted

from masthead.config.settings import Settings
from masthead.records.collection import Registry
from masthead.web.answers import encode
from masthead.web.asyncapi.document import build_document
from masthead.web.openapi.endpoints import Fixed
from masthead.web.v1.routes import PREFIX

DOCUMENT = f"{PREFIX}/asyncapi.json"


def event_description_routes(registry: Registry, settings: Settings) -> list[Mounted]:
    """Made here, once. Mount it before the API itself, which takes the rest."""
    document = encode(build_document(registry, settings))
    return [Mounted(DOCUMENT, Fixed(document, "application/json"))]
