"""`masthead openapi`: prints the description of the public API that this installation serves."""

from __future__ import annotations

import json

from masthead.app import V1_TABLE
from masthead.cli.invocation import Invocation, Shown, command, new_app
from masthead.web.openapi import build_document

app = new_app()


@command(app, "openapi")
def openapi(invocation: Invocation) -> Shown:
    """Prints the OpenAPI document of the public API."""
    document = build_document(V1_TABLE, invocation.settings())
    return Shown(document, json.dumps(document, indent=2, ensure_ascii=False))
