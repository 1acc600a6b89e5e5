"""Sensitive steps: who takes one must have proved within the last 15 minutes who they are.

A route says so in its policy. What was typed is not lost: a form is shown again as hidden fields
with a question for the second factor, or for the password of an account that has none.
"""

from __future__ import annotations

from datetime import timedelta

import msgspec

from masthead.base.errors import BadRequest, Forbidden, MastheadError
from masthead.base.languages.words import staff_words
from masthead.identity.accounts import Accounts
from masthead.identity.factor_fields import has_second_factor
from masthead.identity.passkey_sign_ins import PasskeySignIns
from masthead.identity.second_step import SecondSteps
from masthead.identity.tenants import superusers
from masthead.web.request import Request
from masthead.web.staff import (
    AGAIN,
    AGAIN_CHALLENGE,
    AGAIN_CODE,
    AGAIN_PASSKEY,
    AGAIN_PASSWORD,
    given_passkey,
    party_of,
)

_FIELDS = (AGAIN_PASSWORD, AGAIN_CODE, AGAIN_PASSKEY, AGAIN_CHALLENGE)


class ProofNeeded(Forbidden):
    message = (
        "This step needs a proof of who you are that is at most 15 minutes old. "
        "Open the page in the admin and confirm it there."
    )

    def __init__(self, problem: str = "") -> None:
        super().__init__()
        self.problem = problem


class ProofTooOld(Forbidden):
    """For programs, which can't be asked."""

    message = (
        "This step needs a proof of who you are that is at most 15 minutes old. Sign in again, or "
        "confirm that it is you at /admin/account/confirm."
    )


class Proofs(msgspec.Struct, frozen=True):
    accounts: Accounts
    second_steps: SecondSteps
    passkeys: PasskeySignIns

    async def is_fresh(self, request: Request, left: timedelta) -> bool:
        assert request.caller is not None
        return await self.accounts.sign_ins.is_proved(request.caller, left)

    async def take(self, request: Request) -> None:
        """Takes the proof that the form brings along, and leaves the rest of the form; raises
        ProofNeeded for one that is missing or wrong."""
        form = dict(request.form)
        is_given = any(form.get(name) for name in _FIELDS)
        request.form = {name: value for name, value in form.items() if name not in _FIELDS}
        if not is_given:
            raise ProofNeeded
        try:
            await self._check(request, form)
        except MastheadError as error:
            raise ProofNeeded(str(error)) from error
        assert request.caller is not None
        await self.accounts.sign_ins.prove(request.account["tenant_id"], request.caller.sign_in)

    async def _check(self, request: Request, form: dict[str, str]) -> None:
        account, caller = request.account, request.caller
        assert caller is not None
        if given := given_passkey(form, AGAIN):
            await self.passkeys.use(account, given, party_of(request), request.address)
        elif has_second_factor(account):
            await self.second_steps.use_code(account, form.get(AGAIN_CODE, ""), request.address)
        elif not await self.accounts.verify_password(
            superusers, caller, form.get(AGAIN_PASSWORD, ""), request.address
        ):
            raise BadRequest(staff_words("That is not your password."))
