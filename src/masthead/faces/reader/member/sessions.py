"""The addresses of members' pages, and the session of a member's browser."""

from __future__ import annotations

from masthead.base.caller import Caller, Kind
from masthead.base.ids import TenantId
from masthead.faces.reader.request import SiteRequest
from masthead.features.members.collection import blog_members
from masthead.features.members.record_view import MemberRecord
from masthead.identity.accounts import MEMBER_SESSION, SignedIn
from masthead.identity.sessions import MEMBER_COOKIE, set_cookies

SIGN_IN = "/member/sign-in"
SIGN_UP = "/member/sign-up"
FORGOT = "/member/forgot"
CODE = "/member/code"
ACCOUNT = "/member/account"
DELETE = "/member/delete"


def caller_of(tenant_id: TenantId, member: MemberRecord) -> Caller:
    """The member, who may change what the collection's rules allow."""
    return Caller(Kind.MEMBER, tenant_id, member["id"], member["email"], blog_members.name)


def session_cookies(request: SiteRequest, signed_in: SignedIn | None) -> list[tuple[bytes, bytes]]:
    """The headers that begin a session in the browser; without one, those that end it."""
    values = set_cookies(
        MEMBER_COOKIE,
        signed_in.token if signed_in else "",
        lifetime=MEMBER_SESSION if signed_in else MEMBER_SESSION * 0,
        secure=request.is_https,
    )
    return [(b"set-cookie", each.encode()) for each in values]
