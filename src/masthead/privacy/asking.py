"""What a data-protection request says and who stands behind it, before anything is done.

Decisions: 400 for what is missing or of the wrong kind, 422 for what is well-formed and wrong.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from masthead.caller import Caller, Kind
from masthead.errors import BadRequest, Invalid, Problem, Unauthenticated
from masthead.identity.directory import Tenant
from masthead.privacy.collection import gdpr_requests
from masthead.records.fields.base import FieldError

PHRASE = "DELETE MY DATA"
TENANT, MEMBER = "tenant", "member"
SESSIONS = frozenset({Kind.OWNER, Kind.OPERATOR, Kind.MEMBER})
MAX_BLOG_NAME = 200

NO_CREDENTIAL = (
    "Sign in as the owner of the site or as the member concerned, "
    "or name the site by the x-tenant-id header where the operator allows it."
)
NOT_YOURS = (
    "This session may not ask for that: owners act on their own site, members for themselves."
)


@dataclass(frozen=True, slots=True)
class Ask:
    """A request's body."""

    subject: str
    member_id: str
    tenant_id: str
    tenant_slug: str
    notify_email: str
    blog_name: str


@dataclass(frozen=True, slots=True)
class Standing:
    """On whose data the request is, and how much its caller is believed."""

    tenant: Tenant
    session: Caller | None
    is_trusted: bool
    """Signed in, or behind a gateway that vouches for the header (`full`)."""

    @property
    def speaks_for_site(self) -> bool:
        """Whether the mails may use the caller's name for the site, and go where an owner says.
        A member's words and addresses would make the service anybody's sender of mail."""
        if self.session is None:
            return self.is_trusted
        return self.session.kind is not Kind.MEMBER

    @property
    def asked_by(self) -> str:
        return "session" if self.session else "header"


def read_ask(body: Mapping[str, Any]) -> Ask:
    subject = _text(body, "type")
    if subject not in (TENANT, MEMBER):
        raise BadRequest("`type` must be `tenant` or `member`.")
    member_id = _text(body, "member_id")
    if subject == MEMBER and not member_id:
        raise BadRequest("`member_id` is missing: it says whose data is meant.")
    return Ask(
        subject=subject,
        member_id=member_id if subject == MEMBER else "",
        tenant_id=_text(body, "tenant_id"),
        tenant_slug=_text(body, "tenant_slug"),
        notify_email=_email(body, "notify_email"),
        blog_name=_text(body, "blog_name")[:MAX_BLOG_NAME],
    )


def read_deletion(body: Mapping[str, Any]) -> Ask:
    if _text(body, "confirmation_phrase") != PHRASE:
        raise BadRequest(f"`confirmation_phrase` must be exactly `{PHRASE}`.")
    ask = read_ask(body)
    if ask.subject == TENANT and not ask.tenant_slug:
        raise BadRequest("`tenant_slug` is missing: it must repeat the name of the site.")
    return ask


def check_slug(ask: Ask, tenant: Tenant) -> None:
    if ask.subject == TENANT and ask.tenant_slug != tenant.slug:
        problem = Problem("validation_values_mismatch", "Must be the slug of the site, exactly.")
        raise Invalid({"tenant_slug": problem})


def unknown_member() -> Invalid:
    return Invalid({"member_id": Problem("validation_missing_member", "There is no such member.")})


def check_session(session: Caller, tenant: Tenant, ask: Ask) -> None:
    """An operator may act anywhere, an owner on the own site, a member for themselves."""
    if session.kind is Kind.OPERATOR:
        return
    if session.tenant_id != tenant.id:
        raise Unauthenticated(NOT_YOURS)
    if session.kind is Kind.MEMBER and (ask.subject != MEMBER or ask.member_id != session.id):
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
