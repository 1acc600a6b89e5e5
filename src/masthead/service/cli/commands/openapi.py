"""`masthead openapi`: prints the OpenAPI documents that this installation serves."""

from __future__ import annotations

import json

import click

from masthead.service.app import SERVICE_PARTS, V1_TABLE
from masthead.service.cli.invocation import Invocation, Output, command
from masthead.service.schema import registry
from masthead.web.openapi.public_api import build_document
from masthead.web.openapi.service import build_service_document


@command("openapi")
@click.option("--service", is_flag=True, help="The document of all other endpoints.")
def openapi(invocation: Invocation, service: bool) -> Output:
    """Prints the OpenAPI document of the public API, or of all other endpoints."""
    settings = invocation.settings()
    document = (
        build_service_document(SERVICE_PARTS, registry, settings)
        if service
        else build_document(V1_TABLE, settings)
    )
    return Output(document, json.dumps(document, indent=2, ensure_ascii=False))
