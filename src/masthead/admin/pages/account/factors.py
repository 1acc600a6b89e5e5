"""The caller's own second factors: an authenticator app and recovery codes."""

from __future__ import annotations

from masthead.admin.endpoint import Answer, Page, Redirect
from masthead.admin.request import AdminRequest
from masthead.errors import BadRequest, MastheadError, RateLimited
from masthead.factors import pending_app
from masthead.identity.factor_fields import has_second_factor
from masthead.identity.one_time_codes import matching_step, new_totp_secret, totp_uri

APP = "/admin/account/app"
RECOVERY_CODES = "/admin/account/recovery-codes"
_SECTION = "/admin/account#second-factor"
_WRONG = "That is not the code that the app shows now. Check the time of your phone."
_TOO_OLD = "The page was open for too long. Scan this new QR code with the app."


async def app_form(request: AdminRequest) -> Answer:
    if request.account["totp_secret"]:
        return Redirect(_SECTION)
    return _app_page(request, new_totp_secret())


async def add_app(request: AdminRequest) -> Answer:
    """Only with a code: an app that was set up wrong would lock its owner out."""
    if request.account["totp_secret"]:
        return Redirect(_SECTION)
    now = request.records.clock()
    secret = pending_app.unseal(
        request.services.keyring,
        request.form.get("pending", ""),
        request.caller.sign_in,
        now.timestamp(),
    )
    if not secret:
        return _app_page(request, new_totp_secret(), _TOO_OLD)
    step = matching_step(secret, request.form.get("code", ""), now, after=0)
    if step is None:
        return _app_page(request, secret, _WRONG)
    codes = await request.services.factors.add_app(request.caller, request.account, secret, step)
    if not codes:
        return Redirect(_SECTION, "The authenticator app is added.")
    return _codes_page(codes, "The app is added. Keep these codes for the day it is gone")


async def remove_app_form(request: AdminRequest) -> Answer:
    if not request.account["totp_secret"]:
        return Redirect(_SECTION)
    return _remove_page()


async def remove_app(request: AdminRequest) -> Answer:
    if not request.account["totp_secret"]:
        return Redirect(_SECTION)
    try:
        await _use_code(request)
    except (BadRequest, RateLimited) as error:
        return _remove_page(error)
    await request.services.factors.remove_app(request.caller, request.account)
    return Redirect(_SECTION, "The authenticator app is removed.")


async def recovery_codes_form(request: AdminRequest) -> Answer:
    if not has_second_factor(request.account):
        return Redirect(_SECTION)
    return _renew_page()


async def renew_recovery_codes(request: AdminRequest) -> Answer:
    if not has_second_factor(request.account):
        return Redirect(_SECTION)
    try:
        await _use_code(request)
    except (BadRequest, RateLimited) as error:
        return _renew_page(error)
    codes = await request.services.factors.renew_recovery_codes(request.caller, request.account)
    return _codes_page(codes, "Your new recovery codes")


async def _use_code(request: AdminRequest) -> None:
    """Of whoever is signed in: a session that was left open is not enough to change factors."""
    await request.services.staff.second_steps.use_code(
        request.account, request.form.get("code", ""), request.context.address
    )


def _app_page(request: AdminRequest, secret: str, problem: str = "") -> Page:
    # Loaded when it is needed, which is seldom.
    import segno

    now = request.records.clock().timestamp()
    keyring, sign_in = request.services.keyring, request.caller.sign_in
    uri = totp_uri(secret, account=request.account["email"], issuer=request.site_name)
    values = {
        "pending": pending_app.seal(keyring, secret, sign_in, now),
        "secret": " ".join(secret[at : at + 4] for at in range(0, len(secret), 4)),
        # Dark on light in any theme: most readers of QR codes need that.
        "qr_code": segno.make(uri, error="m").svg_inline(
            dark="#000", light="#fff", border=4, omitsize=True
        ),
        "problem": problem,
    }
    status = 422 if problem else 200
    return Page("account/app.html", "Add an authenticator app", values, status)


def _codes_page(codes: list[str], title: str) -> Page:
    """Answered with a page instead of a redirect: the codes are stored nowhere."""
    return Page("account/recovery-codes.html", title, {"codes": codes})


def _remove_page(error: MastheadError | None = None) -> Page:
    values = {
        "action": f"{APP}/remove",
        "text": "From then on your password is enough to sign in, unless you have another factor.",
        "verb": "Remove the app",
        "busy": "Removing…",
    }
    return _with_code("Remove the authenticator app?", values, error)


def _renew_page(error: MastheadError | None = None) -> Page:
    values = {
        "action": RECOVERY_CODES,
        "text": "You get ten new codes, each for one sign-in. The earlier ones stop working.",
        "verb": "Make new codes",
        "busy": "Making…",
    }
    return _with_code("New recovery codes", values, error)


def _with_code(title: str, values: dict[str, str], error: MastheadError | None) -> Page:
    status = 200
    if error is not None:
        status = 429 if isinstance(error, RateLimited) else 422
    return Page("account/with-code.html", title, {**values, "problem": str(error or "")}, status)
