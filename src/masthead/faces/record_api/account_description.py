"""Describes the record store's endpoints for accounts."""

from __future__ import annotations

from functools import partial

from masthead.faces.record_api.account_bodies import (
    AccountAddress,
    AddressConfirmation,
    AddressToken,
    CodeOrSecondStep,
    Credentials,
    Impersonation,
    NewAddress,
    NewPassword,
    RequestedCode,
)
from masthead.faces.record_api.description import (
    ACCOUNT,
    ACCOUNTS_TAG,
    DONE,
    RECORD_ID,
    SIGNED_IN,
    VIEW_PARAMETERS,
    described,
)
from masthead.faces.record_api.sign_in import METHODS
from masthead.web.openapi.builders import answer, body, schema_ref
from masthead.web.openapi.description import StructAnswer, StructBody

_EMAIL = StructBody(AccountAddress("ada@example.com"))
_PHRASE = "correct horse battery"
_CREDENTIALS = StructBody(Credentials("ada@example.com", _PHRASE))


_SIGNED_IN = partial(described, answers=SIGNED_IN, tag=ACCOUNTS_TAG)
_HERE = [ACCOUNT, *VIEW_PARAMETERS]
_OLDER = "The endpoint of older clients."
SIGN_IN = _SIGNED_IN(
    "authWithPassword", "Signs in with address and password.", _HERE, body=_CREDENTIALS
)
OLD_SIGN_IN = _SIGNED_IN("adminAuthWithPassword", _OLDER, VIEW_PARAMETERS, body=_CREDENTIALS)
REFRESH = _SIGNED_IN("authRefresh", "A new token for a live session.", _HERE, needs_session=True)
OLD_REFRESH = _SIGNED_IN("adminAuthRefresh", _OLDER, VIEW_PARAMETERS, needs_session=True)
SHOW_METHODS = described(
    "authMethods",
    "The ways to sign in.",
    [ACCOUNT],
    {"200": answer("By password, or by a code in an email.", schema_ref("AuthMethods"), METHODS)},
    tag=ACCOUNTS_TAG,
)
REQUEST_RESET = described(
    "requestPasswordReset",
    "Emails a link for a new password, if there is such an account.",
    [ACCOUNT],
    DONE,
    tag=ACCOUNTS_TAG,
    body=_EMAIL,
)
CONFIRM_RESET = described(
    "confirmPasswordReset",
    "Sets a new password with the token from the email.",
    [ACCOUNT],
    DONE,
    tag=ACCOUNTS_TAG,
    body=StructBody(NewPassword("eyJhbGci.…", _PHRASE, _PHRASE)),
)
REQUEST_VERIFICATION = described(
    "requestVerification",
    "Emails a member a link to confirm the address, if it is not confirmed yet.",
    [ACCOUNT],
    DONE,
    tag=ACCOUNTS_TAG,
    body=_EMAIL,
)
CONFIRM_VERIFICATION = described(
    "confirmVerification",
    "Confirms a member's address with the token from the email.",
    [ACCOUNT],
    DONE,
    tag=ACCOUNTS_TAG,
    body=StructBody(AddressToken("NDQ2YzQ1…")),
)
REQUEST_EMAIL_CHANGE = described(
    "requestEmailChange",
    "Emails the new address of the signed-in member a link to confirm it.",
    [ACCOUNT],
    DONE,
    tag=ACCOUNTS_TAG,
    body=StructBody(NewAddress("ada@example.org")),
    needs_session=True,
)
CONFIRM_EMAIL_CHANGE = described(
    "confirmEmailChange",
    "Changes a member's address with the token from the email, and ends every session.",
    [ACCOUNT],
    DONE,
    tag=ACCOUNTS_TAG,
    body=StructBody(AddressConfirmation("NDQ2YzQ1…", _PHRASE)),
)
REQUEST_OTP = described(
    "requestOTP",
    "Emails a code to sign in with, if there is such an account.",
    [ACCOUNT],
    {
        "200": StructAnswer(
            "The id to send with the code, for any address.", RequestedCode("ujefu77l6b5b4x5")
        )
    },
    tag=ACCOUNTS_TAG,
    body=_EMAIL,
)
SIGN_IN_OTP = described(
    "authWithOTP",
    "Signs in with the code from the email; with `mfaId`, the second step with a code of the app.",
    [ACCOUNT, *VIEW_PARAMETERS],
    SIGNED_IN,
    tag=ACCOUNTS_TAG,
    body=StructBody(CodeOrSecondStep("ujefu77l6b5b4x5", "482915")),
)
OAUTH2 = described(
    "authWithOAuth2",
    "Refused: no provider can be set here.",
    [ACCOUNT],
    {},
    tag=ACCOUNTS_TAG,
    body=body({"type": "object"}, {"provider": "google"}),
)
IMPERSONATE = described(
    "impersonate",
    "A session of another account: for operators, and for owners of their own members.",
    [ACCOUNT, RECORD_ID, *VIEW_PARAMETERS],
    SIGNED_IN,
    tag=ACCOUNTS_TAG,
    body=StructBody(Impersonation(600)),
    needs_session=True,
)
