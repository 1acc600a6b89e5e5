"""The page of a member's reset link: `/member/reset-password`. That of staff is the admin's.

GET shows a form; POST sets the password.
"""

from __future__ import annotations

from functools import partial
from urllib.parse import parse_qs

from masthead.base.errors import BadRequest, Invalid
from masthead.base.ids import TenantId
from masthead.base.languages.words import words
from masthead.engine.records.collection import Collection, Record
from masthead.features.members.collection import blog_members
from masthead.features.password_reset.resets import MEMBER_PATH, PasswordResets
from masthead.features.site.address import Site
from masthead.web.answers import Answer
from masthead.web.bodies import SMALL_FORM_BYTES
from masthead.web.dispatch import Action, Route
from masthead.web.pages import Input, Page, ShowPage
from masthead.web.policy import Body, BodyKind, Limit, Policy, WhileSuspended, Who
from masthead.web.request import Request

PASSWORDS = (
    Input("password", words("New password"), "password", "new-password"),
    Input("passwordConfirm", words("Repeat the password"), "password", "new-password"),
)
BAD_FORM = words("The form could not be read. Open the link from the email again.")


def reset_routes(resets: PasswordResets, show: ShowPage) -> list[Route]:
    async def answer(request: Request) -> Answer:
        return await show(request, partial(_page, resets, blog_members, request))

    action = Action(answer, POLICY)
    return [Route(MEMBER_PATH, {"GET": action, "HEAD": action, "POST": action})]


POLICY = Policy(
    who=Who.LINK,
    while_suspended=WhileSuspended.OPEN,
    limit=Limit.SIGN_INS,
    body=Body(BodyKind.RAW, SMALL_FORM_BYTES),
)


async def _page(resets: PasswordResets, collection: Collection, request: Request) -> Page:
    token = _texts(request.query_string).get("token", "")
    account = await resets.find(collection, request.tenant_id, token)
    site = await resets.sites.of(TenantId(account["tenant_id"]))
    if request.method != "POST":
        return _form(site, account)
    given = _texts(await request.body())
    # A browser always sends the second field, so a missing one is invalid.
    given.setdefault("passwordConfirm", "")
    try:
        await resets.confirm(collection, request.tenant_id, token, given, address=request.address)
    except Invalid as error:
        return _form(site, account, _sentence(error))
    return _done(site, account)


def _form(site: Site, account: Record, problem: str = "") -> Page:
    text = (
        words("For %(email)s at %(site)s.", email=account["email"], site=site.name),
        words("This ends every session. Sign in again with the new password."),
    )
    return Page(
        "invalid" if problem else "ready",
        words("Choose a new password"),
        (problem, *text) if problem else text,
        words("Set the password"),
        site.name,
        site.url,
        site.language,
        status=400 if problem else 200,
        inputs=PASSWORDS,
    )


def _done(site: Site, account: Record) -> Page:
    text = words(
        "%(email)s signs in at %(site)s with the new password from now on.",
        email=account["email"],
        site=site.name,
    )
    return Page(
        "changed", words("Your password is set"), (text,), "", site.name, site.url, site.language
    )


def _sentence(error: Invalid) -> str:
    labels = {each.name: each.label for each in PASSWORDS}
    return " ".join(
        str(words("%(field)s: %(problem)s", field=labels[name], problem=each.message))
        for name, each in error.problems.items()
    )


def _texts(raw: bytes) -> dict[str, str]:
    if len(raw) > SMALL_FORM_BYTES:
        raise BadRequest(BAD_FORM)
    try:
        found = parse_qs(raw.decode("latin-1"), errors="replace", max_num_fields=16)
    except ValueError as error:
        raise BadRequest(BAD_FORM) from error
    return {name: values[-1] for name, values in found.items()}
