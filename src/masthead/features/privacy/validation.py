"""Parses the body of a data-protection request and checks that its caller may send it.

A missing value or one of the wrong type is 400; a well-formed value that is wrong is 422.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from masthead.base.caller import Caller, Kind
from masthead.base.errors import BadRequest, Invalid, Problem, Unauthenticated
from masthead.engine.records.fields.base import FieldError
from masthead.features.privacy.collection import gdpr_requests
from masthead.identity.directory import Tenant

PHRASE = "DELETE MY DATA"
TENANT, MEMBER = "tenant", "member"
BY_SITE, BY_MEMBER, BY_HEADER = "site", "member", "header"
SESSIONS = frozenset({Kind.OWNER, Kind.OPERATOR, Kind.MEMBER})
MAX_BLOG_NAME = 200

NO_CREDENTIAL = (
    "Sign in as the owner of the site or as the member concerned, "
    "or name the site with the x-tenant-id header if the operator allows it."
)
NOT_YOURS = (
    "This session may not request that: owners act on their own site, members for themselves."
)


class RequestBody(msgspec.Struct, frozen=True):
    subject: str
    member_id: str
    tenant_id: str
    tenant_slug: str
    notify_email: str
    blog_name: str


class Requester(msgspec.Struct, frozen=True):
    """The tenant of the request, and how far its caller is trusted."""

    tenant: Tenant
    session: Caller | None
    is_trusted: bool
    """Signed in, or `x-tenant-id` is set by a gateway (`MASTHEAD_GDPR_HEADER_AUTH=full`)."""

    @property
    def acts_for_site(self) -> bool:
        """Whether the emails may use the body's `blog_name` and go to its `notify_email`. If a
        member could set them, members could send emails of their own through the service."""
        if self.session is None:
            return self.is_trusted
        return self.session.kind is not Kind.MEMBER

    @property
    def asked_by(self) -> str:
        if self.session is None:
            return BY_HEADER
        return BY_MEMBER if self.session.kind is Kind.MEMBER else BY_SITE


def parse_body(body: Mapping[str, Any]) -> RequestBody:
    subject = _text(body, "type")
    if subject not in (TENANT, MEMBER):
        raise BadRequest("`type` must be `tenant` or `member`.")
    member_id = _text(body, "member_id")
    if subject == MEMBER and not member_id:
        raise BadRequest("`member_id` is missing. It names the member concerned.")
    return RequestBody(
        subject=subject,
        member_id=member_id if subject == MEMBER else "",
        tenant_id=_text(body, "tenant_id"),
        tenant_slug=_text(body, "tenant_slug"),
        notify_email=_email(body, "notify_email"),
        blog_name=_text(body, "blog_name")[:MAX_BLOG_NAME],
    )


def parse_deletion(raw: Mapping[str, Any]) -> RequestBody:
    if _text(raw, "confirmation_phrase") != PHRASE:
        raise BadRequest(f"`confirmation_phrase` must be exactly `{PHRASE}`.")
    body = parse_body(raw)
    if body.subject == TENANT and not body.tenant_slug:
        raise BadRequest("`tenant_slug` is missing: it must be the slug of the site.")
    return body


def check_slug(body: RequestBody, tenant: Tenant) -> None:
    if body.subject == TENANT and body.tenant_slug != tenant.slug:
        problem = Problem("validation_values_mismatch", "Must be the slug of the site, exactly.")
        raise Invalid({"tenant_slug": problem})


def unknown_member() -> Invalid:
    return Invalid({"member_id": Problem("validation_missing_member", "There is no such member.")})


def check_session(session: Caller, tenant: Tenant, body: RequestBody) -> None:
    """An operator may act anywhere, an owner on the own site, a member for themselves."""
    if session.kind is Kind.OPERATOR:
        return
    if session.tenant_id != tenant.id:
        raise Unauthenticated(NOT_YOURS)
    if session.kind is Kind.MEMBER and (body.subject != MEMBER or body.member_id != session.id):
        raise Unauthenticated(NOT_YOURS)


def _text(body: Mapping[str, Any], name: str) -> str:
    value = body.get(name)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise BadRequest(f"`{name}` must be text.")
    return value


def _email(body: Mapping[str, Any], name: str) -> str:
    text = _text(body, name)
    try:
        address: str = gdpr_requests.by_name[name].check(text)
    except FieldError as error:
        raise Invalid({name: error.problem}) from None
    return address
