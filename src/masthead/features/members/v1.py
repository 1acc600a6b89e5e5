"""The public API of members. Addresses are always masked."""

from __future__ import annotations

from masthead.engine.records.collection import Record
from masthead.engine.records.filter.conditions import equals
from masthead.engine.records.read.page import Page
from masthead.features.members.collection import blog_members
from masthead.web.v1.call import Call
from masthead.web.v1.parameters import Parameter
from masthead.web.v1.routes import list_of, patch
from masthead.web.v1.schema import Body, View


def masked(email: str) -> str:
    """`j***@example.com`: the first character and the domain."""
    local, _, domain = email.rpartition("@")
    return f"{local[:1]}***@{domain}"


MEMBER = View(
    "Member",
    blog_members,
    ("id", "email", "tier", "status", "created", "updated"),
    computed={"email": masked},
)
UPDATE = Body("MemberUpdate", blog_members, ("tier", "status"), partial=True)

TIER = Parameter("tier", "Only members of this tier.", "choice", choices=("free", "paid"))


async def list_members(call: Call) -> Page:
    conditions = [equals("tier", call.query["tier"])] if call.query["tier"] else []
    return await call.page(blog_members, *conditions)


async def update_member(call: Call) -> Record:
    return await call.unit.update(
        blog_members, call.record_id, call.body, expected_version=call.expected_version
    )


routes = (
    list_of(
        "/members",
        list_members,
        scope="members:read",
        view=MEMBER,
        filters=(TIER,),
        summary="List members, newest first",
    ),
    patch(
        "/members/{id}",
        update_member,
        scope="members:write",
        view=MEMBER,
        body=UPDATE,
        summary="Set a member's tier or status",
    ),
)
