"""`masthead asyncapi`: prints the AsyncAPI description of webhook deliveries."""

from __future__ import annotations

import json

from masthead.service.cli.invocation import Invocation, Output, command
from masthead.service.schema import registry
from masthead.web.asyncapi.document import build_document


@command("asyncapi")
def asyncapi(invocation: Invocation) -> Output:
    """Prints the AsyncAPI description of all events, as /api/v1/asyncapi.json serves it."""
    document = build_document(registry, invocation.settings())
    return Output(document, json.dumps(document, indent=2, ensure_ascii=False))
