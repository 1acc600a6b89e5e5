"""The caller's own second factors: an authenticator app and recovery codes."""

from __future__ import annotations

from markupsafe import Markup

from masthead.base.errors import BadRequest, MastheadError, RateLimited
from masthead.base.languages.words import words
from masthead.faces.admin.endpoint import Answer, Page, Redirect
from masthead.faces.admin.pages.account.proof import ask_for_proof, codes_page, prove
from masthead.faces.admin.request import AdminRequest
from masthead.features.factors.enrolment import PENDING_APP
from masthead.identity.factor_fields import has_second_factor
from masthead.identity.one_time_codes import matching_step, new_totp_secret, totp_uri

APP = "/admin/account/app"
RECOVERY_CODES = "/admin/account/recovery-codes"
_SECTION = "/admin/account#second-factor"
_WRONG = words("That code is not right. Check that the time on your phone is correct.")
_TOO_OLD = words("The page was open for too long. Scan this new QR code with the app.")


async def app_form(request: AdminRequest) -> Answer:
    if request.account["totp_secret"]:
        return Redirect(_SECTION)
    return _app_page(request, new_totp_secret())


async def add_app(request: AdminRequest) -> Answer:
    """Only with a code: an app that was set up wrong would lock its owner out."""
    if request.account["totp_secret"]:
        return Redirect(_SECTION)
    now = request.records.clock()
    pending, sign_in = request.form.get("pending", ""), request.caller.sign_in
    secret = PENDING_APP.open(request.services.keyring, pending, sign_in, now)
    if not secret:
        return _app_page(request, new_totp_secret(), _TOO_OLD)
    step = matching_step(secret, request.form.get("code", ""), now, after=0)
    if step is None:
        return _app_page(request, secret, _WRONG)
    codes = await request.services.factors.add_app(request.caller, request.account, secret, step)
    if not codes:
        return Redirect(_SECTION, words("The authenticator app has been added."))
    return codes_page(codes, words("The app is added. Keep these codes in case you lose it"))


async def remove_app_form(request: AdminRequest) -> Answer:
    if not request.account["totp_secret"]:
        return Redirect(_SECTION)
    return _remove_page(request)


async def remove_app(request: AdminRequest) -> Answer:
    if not request.account["totp_secret"]:
        return Redirect(_SECTION)
    try:
        await prove(request)
    except (BadRequest, RateLimited) as error:
        return _remove_page(request, error)
    await request.services.factors.remove_app(request.caller, request.account)
    return Redirect(_SECTION, words("The authenticator app has been removed."))


async def recovery_codes_form(request: AdminRequest) -> Answer:
    if not has_second_factor(request.account):
        return Redirect(_SECTION)
    return _renew_page(request)


async def renew_recovery_codes(request: AdminRequest) -> Answer:
    if not has_second_factor(request.account):
        return Redirect(_SECTION)
    try:
        await prove(request)
    except (BadRequest, RateLimited) as error:
        return _renew_page(request, error)
    codes = await request.services.factors.renew_recovery_codes(request.caller, request.account)
    return codes_page(codes, words("Your new recovery codes"))


def _app_page(request: AdminRequest, secret: str, problem: str = "") -> Page:
    # Loaded when it is needed, which is seldom.
    import segno

    now = request.records.clock()
    keyring, sign_in = request.services.keyring, request.caller.sign_in
    uri = totp_uri(secret, account=request.account["email"], issuer=request.site_name)
    values = {
        "pending": PENDING_APP.seal(keyring, secret, sign_in, now),
        "secret": " ".join(secret[at : at + 4] for at in range(0, len(secret), 4)),
        # Dark on light in any theme: most readers of QR codes need that.
        "qr_code": Markup(  # noqa: S704  (made of a pattern of modules only)
            segno.make(uri, error="m").svg_inline(
                dark="#000", light="#fff", border=4, omitsize=True
            )
        ),
        "problem": problem,
    }
    status = 422 if problem else 200
    return Page("account/app.html", words("Add an authenticator app"), values, status)


def _remove_page(request: AdminRequest, error: MastheadError | None = None) -> Page:
    values = {
        "action": f"{APP}/remove",
        "text": words(
            "You will then sign in with your password only, unless you have another factor."
        ),
        "verb": words("Remove the app"),
        "busy": words("Removing…"),
    }
    return ask_for_proof(request, words("Remove the authenticator app?"), values, error)


def _renew_page(request: AdminRequest, error: MastheadError | None = None) -> Page:
    values = {
        "action": RECOVERY_CODES,
        "text": words("You get ten new codes; each works once. The old ones stop working."),
        "verb": words("Create new codes"),
        "busy": words("Making…"),
    }
    return ask_for_proof(request, words("New recovery codes"), values, error)
