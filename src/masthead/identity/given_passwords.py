"""A new password in a body or a form: checked, and turned into what an account stores."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from masthead.base.errors import Invalid, Problem
from masthead.base.languages.words import words
from masthead.engine.records.accounts import credentials, new_token_key
from masthead.engine.records.fields.base import REQUIRED
from masthead.identity import passwords


async def new_credentials(
    given: Mapping[str, Any], *, required: bool, email: str = ""
) -> dict[str, Any]:
    """The engine's values for the `password` in a body, after checking `passwordConfirm`. `email`
    is the account's, where the body has none."""
    if not required and given.get("password") in (None, ""):
        return {"token_key": new_token_key()}
    return credentials(await passwords.hash_password(checked_password({"email": email, **given})))


def checked_password(given: Mapping[str, Any]) -> str:
    """The `password` in a body, which is the same as `passwordConfirm` and not the `email`; not
    hashed yet."""
    password = given.get("password") or ""
    problems: dict[str, Problem] = {}
    if "passwordConfirm" in given and given["passwordConfirm"] != password:
        mismatch = Problem("validation_values_mismatch", words("Must be the same as the password."))
        problems["passwordConfirm"] = mismatch if given["passwordConfirm"] else REQUIRED
    if not password:
        problems["password"] = REQUIRED
    elif not isinstance(password, str):
        problems["password"] = Problem("validation_invalid_type", "Must be text.")
    elif not problems and (
        problem := passwords.check_password(password, str(given.get("email", "")))
    ):
        problems["password"] = problem
    if problems:
        raise Invalid(problems)
    return str(password)
