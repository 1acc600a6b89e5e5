"""The description of a route's row, and the OpenAPI operation made from it. The policy already
gives the caller's proof and the refusals, so they are not repeated."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Any

import msgspec

from masthead.web.openapi.builders import Operation, struct_content
from masthead.web.policy import Limit, Policy, WhileSuspended, Who


class Envelope(StrEnum):
    """The components of a refusal, by the beginning of their names."""

    SERVICE = "Refused"
    RECORD_STORE = "RecordStore"


class StructAnswer(msgspec.Struct, frozen=True):
    """An answer that a struct makes: the type of the example is the schema."""

    meaning: str
    example: msgspec.Struct
    as_page: bool = False
    """A browser gets a page."""

    def node(self) -> dict[str, Any]:
        types = struct_content(self.example) | ({"text/html": _PAGE} if self.as_page else {})
        return {"description": self.meaning, "content": types}


class StructBody(msgspec.Struct, frozen=True):
    """A body that is decoded into a struct: the type of the example is the schema."""

    example: msgspec.Struct

    def node(self) -> dict[str, Any]:
        return {"required": True, "content": struct_content(self.example)}


_STRUCTS = (StructAnswer, StructBody)
_PAGE = {"schema": {"type": "string"}}


class Description(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    """The name of the operation, for generated clients."""
    tag: str
    summary: str
    answers: Mapping[str, Any]
    """The answers by status, each a `Shown` or a node of the document."""
    parameters: Sequence[Any] = ()
    body: Mapping[str, Any] | StructBody | None = None
    errors: Sequence[int] = ()
    """Besides those that the policy leads to."""
    needs_session: bool = False
    """A guest is refused by the handler."""
    takes_tenant_header: bool = False
    envelope: Envelope = Envelope.SERVICE
    schemas: Mapping[str, Any] = msgspec.field(default_factory=dict)
    """The components that nodes of the document name."""

    @property
    def structs(self) -> Iterable[type[msgspec.Struct]]:
        """The types of its examples."""
        shown = [self.body, *self.answers.values()]
        return [type(each.example) for each in shown if isinstance(each, _STRUCTS)]


def operation_of(description: Description, policy: Policy) -> Operation:
    errors = {*description.errors, *_refusals(policy)}
    refused = {
        str(status): {"$ref": f"#/components/responses/{description.envelope}{status}"}
        for status in sorted(errors)
        if str(status) not in description.answers
    }
    node: Operation = {
        "operationId": description.name,
        "tags": [description.tag],
        "summary": description.summary,
    }
    if description.parameters:
        node["parameters"] = list(description.parameters)
    node["security"] = _security(description, policy)
    if description.body is not None:
        node["requestBody"] = _node_of(description.body)
    answers = {status: _node_of(each) for status, each in description.answers.items()}
    return {**node, "responses": {**answers, **refused}}


def _node_of(shown: Any) -> Any:
    return shown.node() if isinstance(shown, _STRUCTS) else shown


def _refusals(policy: Policy) -> set[int]:
    """503: the database may not answer."""
    found = {503}
    if policy.body is not None:
        found |= {400, 408, 413}
    if policy.while_suspended is not WhileSuspended.OPEN:
        found.add(403)
    if policy.limit not in (Limit.NONE, Limit.COSTLY_READS):
        found.add(429)
    return found


def _security(description: Description, policy: Policy) -> list[dict[str, list[str]]]:
    if policy.who is not Who.VISITOR:
        return []
    session: list[dict[str, list[str]]] = [{"session": []}]
    if description.takes_tenant_header:
        return [*session, {"tenant": []}]
    return session if description.needs_session else [{}, *session]
