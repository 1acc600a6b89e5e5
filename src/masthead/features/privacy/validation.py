"""The bodies of data-protection requests, and who may send them.

A missing value or one of the wrong type is 400; a well-formed value that is wrong is 422.
"""

from __future__ import annotations

from typing import Annotated, Final, Literal, TypeVar

import msgspec
from msgspec import Meta
from msgspec.structs import replace

from masthead.base.caller import Caller, Kind
from masthead.base.errors import BadRequest, Invalid, Problem, Unauthenticated
from masthead.engine.records.fields.base import FieldError
from masthead.features.privacy.collection import gdpr_requests
from masthead.identity.directory import Tenant

PHRASE = "DELETE MY DATA"
TENANT: Final = "tenant"
MEMBER: Final = "member"
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


class DataRequest(msgspec.Struct, frozen=True, omit_defaults=True):
    subject: Annotated[
        Literal["tenant", "member"], Meta(description="Whose data the request is about.")
    ] = msgspec.field(name="type")
    member_id: Annotated[str, Meta(description="The member; required with type `member`.")] = ""
    tenant_id: Annotated[
        str, Meta(description="The tenant, if neither the host nor the header names it.")
    ] = ""
    notify_email: Annotated[
        str, Meta(description="The address of a second recipient of the email. Owners only.")
    ] = ""
    blog_name: Annotated[str, Meta(description="The site's name in the emails. Owners only.")] = ""


class DeletionRequest(DataRequest, frozen=True, omit_defaults=True, kw_only=True):
    confirmation_phrase: Annotated[str, Meta(extra_json_schema={"const": PHRASE})]
    tenant_slug: Annotated[
        str, Meta(description="The slug of the tenant; required with type `tenant`.")
    ] = ""


Asked = TypeVar("Asked", bound=DataRequest)


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


def check_request(given: Asked) -> Asked:
    if given.subject == MEMBER and not given.member_id:
        raise BadRequest("`member_id` is missing. It names the member concerned.")
    return replace(
        given,
        member_id=given.member_id if given.subject == MEMBER else "",
        notify_email=_checked_email(given.notify_email),
        blog_name=given.blog_name[:MAX_BLOG_NAME],
    )


def check_deletion(given: DeletionRequest) -> DeletionRequest:
    if given.confirmation_phrase != PHRASE:
        raise BadRequest(f"`confirmation_phrase` must be exactly `{PHRASE}`.")
    if given.subject == TENANT and not given.tenant_slug:
        raise BadRequest("`tenant_slug` is missing: it must be the slug of the site.")
    return check_request(given)


def check_slug(body: DeletionRequest, tenant: Tenant) -> None:
    if body.subject == TENANT and body.tenant_slug != tenant.slug:
        problem = Problem("validation_values_mismatch", "Must be the slug of the site, exactly.")
        raise Invalid({"tenant_slug": problem})


def unknown_member() -> Invalid:
    return Invalid({"member_id": Problem("validation_missing_member", "There is no such member.")})


def check_session(session: Caller, tenant: Tenant, body: DataRequest) -> None:
    """An operator may act anywhere, an owner on the own site, a member for themselves."""
    if session.kind is Kind.OPERATOR:
        return
    if session.tenant_id != tenant.id:
        raise Unauthenticated(NOT_YOURS)
    if session.kind is Kind.MEMBER and (body.subject != MEMBER or body.member_id != session.id):
        raise Unauthenticated(NOT_YOURS)


def _checked_email(text: str) -> str:
    name = "notify_email"
    try:
        address: str = gdpr_requests.by_name[name].check(text)
    except FieldError as error:
        raise Invalid({name: error.problem}) from None
    return address
