"""The bodies and answers of the endpoints for accounts, with PocketBase's messages for blank
values."""

from __future__ import annotations

from typing import Annotated, Any, TypeVar

import msgspec
from msgspec import Meta
from msgspec.structs import fields

from masthead.base.errors import BadRequest, Invalid, Problem
from masthead.engine.records.fields.base import REQUIRED
from masthead.faces.record_api.call import Call
from masthead.web.bodies import struct_of

INVALID = "An error occurred while validating the submitted data."
NOT_READ = "An error occurred while loading the submitted data."

Given = Annotated[str, Meta(min_length=1)]
Body = TypeVar("Body", bound=msgspec.Struct)


class AccountAddress(msgspec.Struct, frozen=True):
    email: Given


class Credentials(msgspec.Struct, frozen=True):
    identity: Annotated[str, Meta(description="The email address.", min_length=1)]
    password: Given


class NewPassword(msgspec.Struct, frozen=True, rename="camel"):
    token: Given
    password: Given
    password_confirm: Annotated[str, Meta(description="The same again.", min_length=1)]


class AddressToken(msgspec.Struct, frozen=True):
    token: Given


class NewAddress(msgspec.Struct, frozen=True, rename="camel"):
    new_email: Given


class AddressConfirmation(msgspec.Struct, frozen=True):
    token: Given
    password: Given


class CodeOrSecondStep(msgspec.Struct, frozen=True, rename="camel"):
    otp_id: Given
    password: Given
    mfa_id: Annotated[str, Meta(description="From the 401 of the first step.")] = ""


class Impersonation(msgspec.Struct, frozen=True):
    duration: Annotated[int, Meta(description="Seconds.")] = 0


class RequestedCode(msgspec.Struct, frozen=True, rename="camel"):
    otp_id: Annotated[str, Meta(description="Send it with the code.")]


class FileToken(msgspec.Struct, frozen=True):
    token: str


async def account_body(call: Call, kind: type[Body]) -> Body:
    """Raises Invalid for all its blank values."""
    given = await call.small_json()
    refuse_problems(blanks(given, kind))
    try:
        return struct_of(kind, given)
    except BadRequest as error:
        raise BadRequest(NOT_READ) from error


def blanks(given: dict[str, Any], kind: type[msgspec.Struct]) -> dict[str, Problem]:
    """All the missing ones."""
    texts = {
        each.encode_name: given.get(each.encode_name) for each in fields(kind) if each.required
    }
    return {name: REQUIRED for name, text in texts.items() if not isinstance(text, str) or not text}


def refuse_problems(problems: dict[str, Problem]) -> None:
    if problems:
        raise Invalid(problems, INVALID)
