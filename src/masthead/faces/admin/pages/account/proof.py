"""A change of factors asks for one of them: a session that was left open is not enough."""

from __future__ import annotations

from masthead.base.errors import MastheadError
from masthead.faces.admin.endpoint import Page, refused_page
from masthead.faces.admin.request import AdminRequest
from masthead.web.staff import given_passkey, party_of


async def prove(request: AdminRequest) -> None:
    """Takes the code or the passkey in the form; raises BadRequest or RateLimited."""
    staff, address = request.services.staff, request.context.address
    given = given_passkey(request.form)
    if given is not None:
        await staff.passkeys.use(request.account, given, party_of(request.context), address)
    else:
        code = request.form.get("code", "")
        await staff.second_steps.use_code(request.account, code, address)


def ask_for_proof(
    request: AdminRequest, title: str, values: dict[str, str], error: MastheadError | None
) -> Page:
    passkeys = request.services.staff.passkeys
    asked = {
        "passkey": passkeys.ask(party_of(request.context), request.account),
        "has_app": bool(request.account["totp_secret"]),
        "problem": str(error or ""),
    }
    return refused_page("account/with-code.html", title, {**values, **asked}, error)


def codes_page(codes: list[str], title: str) -> Page:
    """Answered with a page instead of a redirect: the codes are stored nowhere."""
    return Page("account/recovery-codes.html", title, {"codes": codes})
