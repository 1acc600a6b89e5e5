"""The public API of members. Addresses are masked, unless the key may see personal data."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from masthead.base.errors import Problem, WrongState
from masthead.engine.records.collection import Record
from masthead.engine.records.fields.text import Text
from masthead.engine.records.filter.conditions import equals
from masthead.engine.records.read.page import Page
from masthead.features.members.collection import CONSENT_FIELDS, blog_members, consent
from masthead.features.members.services import MemberServices
from masthead.features.members.sign_up import EmailRequest, Purpose
from masthead.features.members.welcome import welcomed_elsewhere
from masthead.identity.scopes import PERSONAL
from masthead.web.v1.call import Call
from masthead.web.v1.parameters import Parameter
from masthead.web.v1.routes import delete, get, list_of, patch, post
from masthead.web.v1.schema import Body, View


def masked(email: str) -> str:
    """`j***@example.com`: the first character and the domain."""
    local, _, domain = email.rpartition("@")
    return f"{local[:1]}***@{domain}"


_ANONYMOUS = ("id", "email", "tier", "status", "created", "updated")
_PERSONAL = View(
    "Member",
    blog_members,
    (*_ANONYMOUS, "name", "labels", "newsletter", "tier_id", "access_until"),
    nullable=frozenset({"name", "tier_id", "access_until"}),
)
MEMBER = View(
    "Member",
    blog_members,
    _ANONYMOUS,
    computed={"email": masked},
    fuller=_PERSONAL,
    fuller_scope=PERSONAL,
    help="A member. The address is masked, as `j***@example.com`. A key with the scope "
    "`members:personal` gets the whole address, and the fields that are not required.",
)
CONSENT: Final = Text(
    name="consent",
    max=CONSENT_FIELDS[0].max,
    help="Where the person agreed to get newsletters, as a sentence. Needed with "
    "`newsletter: true`.",
)
_NO_CONSENT: Final = Problem(
    "validation_required",
    "Say where the person agreed to get newsletters, such as: Paper form at the harbour fair.",
)


def _check_consent(given: Mapping[str, Any], _: datetime) -> Mapping[str, Problem]:
    said = given.get(CONSENT.name)
    is_missing = said is None or (isinstance(said, str) and not said.strip())
    return {CONSENT.name: _NO_CONSENT} if given.get("newsletter") is True and is_missing else {}


CREATE = Body(
    "MemberCreate",
    blog_members,
    ("email", "name", "tier", "newsletter", "labels"),
    required=frozenset({"email"}),
    nullable=frozenset({"name"}),
    inputs=(CONSENT,),
    flags=("send_email",),
    check=_check_consent,
)
UPDATE = Body("MemberUpdate", blog_members, ("tier", "status"), partial=True)

TIER = Parameter("tier", "Only members of this tier.", "choice", choices=("free", "paid"))


async def list_members(call: Call) -> Page:
    conditions = [equals("tier", call.query["tier"])] if call.query["tier"] else []
    return await call.page(blog_members, *conditions)


async def create_member(call: Call) -> Record:
    given, unit = dict(call.body), call.unit
    is_mailed, said = given.pop("send_email", False), given.pop(CONSENT.name, "")
    if await unit.find(blog_members, {"email": given["email"]}, limit=1):
        raise WrongState("The site already has a member with this email address.")
    # Without an email now, none follows when the member first signs in.
    stamped = {} if is_mailed else welcomed_elsewhere(given.get("tier", "free"))
    if said:
        stamped |= consent(said, unit.now)
    member = await unit.create(blog_members, given, stamped=stamped)
    if is_mailed:
        links = call.services.group(MemberServices).links
        await links.queue_in(unit, call.tenant.id, EmailRequest(Purpose.VERIFY, member["email"]))
    return member


async def get_member(call: Call) -> Record:
    return await call.get(blog_members)


async def update_member(call: Call) -> Record:
    return await call.unit.update(
        blog_members, call.record_id, call.body, expected_version=call.expected_version
    )


async def delete_member(call: Call) -> None:
    erase = call.services.group(MemberServices).erase
    await erase(call.unit, call.record_id, expected_version=call.expected_version)


routes = (
    list_of(
        "/members",
        list_members,
        scope="members:read",
        view=MEMBER,
        filters=(TIER,),
        summary="List members, newest first",
    ),
    post(
        "/members",
        create_member,
        scope="members:write",
        view=MEMBER,
        body=CREATE,
        may_conflict=True,
        summary="Add a member",
    ),
    get("/members/{id}", get_member, scope="members:read", view=MEMBER, summary="View a member"),
    patch(
        "/members/{id}",
        update_member,
        scope="members:write",
        view=MEMBER,
        body=UPDATE,
        summary="Set a member's tier or status",
    ),
    delete(
        "/members/{id}",
        delete_member,
        scope="members:write",
        summary="Delete a member at once, with all personal data",
    ),
)
