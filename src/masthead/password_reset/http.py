"""The page of a member's reset link: `/member/reset-password`. That of staff is the admin's.

GET shows a form; POST sets the password.
"""

from __future__ import annotations

from functools import partial
from urllib.parse import parse_qs

from starlette.types import Receive, Scope

from masthead.errors import BadRequest, Invalid, NotFound
from masthead.ids import TenantId
from masthead.members.collection import blog_members
from masthead.password_reset.resets import MEMBER_PATH, PasswordResets
from masthead.records.collection import Collection, Record
from masthead.site.address import Site
from masthead.web.answers import Answer, Endpoint
from masthead.web.bodies import SMALL_FORM_BYTES, read_small_form
from masthead.web.dispatch import Route
from masthead.web.pages import Input, Page, ShowPage
from masthead.web.request_context import request_context

PASSWORDS = (
    Input("password", "New password", "password", "new-password"),
    Input("passwordConfirm", "The same again", "password", "new-password"),
)
BAD_FORM = "The form could not be read. Open the link from the email again."


def reset_routes(resets: PasswordResets, show: ShowPage) -> list[Route]:
    return [Route(MEMBER_PATH, _ResetPage(resets, blog_members, show))]


class _ResetPage(Endpoint):
    def __init__(self, resets: PasswordResets, collection: Collection, show: ShowPage) -> None:
        self._resets = resets
        self._collection = collection
        self._show = show

    async def answer(self, scope: Scope, receive: Receive) -> Answer:
        if scope["method"] not in ("GET", "HEAD", "POST"):
            raise NotFound
        return await self._show(scope, partial(self._page, scope, receive))

    async def _page(self, scope: Scope, receive: Receive) -> Page:
        context = request_context(scope)
        token = _texts(scope["query_string"]).get("token", "")
        account = await self._resets.find(self._collection, context.tenant_id, token)
        site = await self._resets.site_of(TenantId(account["tenant_id"]))
        page = _form(site, account)
        if scope["method"] == "POST":
            given = _texts(await read_small_form(scope, receive))
            # A browser always sends the second field, so a missing one is invalid.
            given.setdefault("passwordConfirm", "")
            try:
                await self._resets.confirm(
                    self._collection, context.tenant_id, token, given, context.address
                )
                page = _done(site, account)
            except Invalid as error:
                page = _form(site, account, _sentence(error))
        return page


def _form(site: Site, account: Record, problem: str = "") -> Page:
    text = (
        f"For {account['email']} at {site.name}.",
        "It ends every session: you sign in again with the new password.",
    )
    return Page(
        "invalid" if problem else "ready",
        "Choose a new password",
        (problem, *text) if problem else text,
        "Set this password",
        site.name,
        site.url,
        status=400 if problem else 200,
        inputs=PASSWORDS,
    )


def _done(site: Site, account: Record) -> Page:
    text = f"{account['email']} signs in at {site.name} with the new password from now on."
    return Page("changed", "Your password is set", (text,), "", site.name, site.url)


def _sentence(error: Invalid) -> str:
    labels = {each.name: each.label for each in PASSWORDS}
    return " ".join(f"{labels[name]}: {each.message}" for name, each in error.problems.items())


def _texts(raw: bytes) -> dict[str, str]:
    if len(raw) > SMALL_FORM_BYTES:
        raise BadRequest(BAD_FORM)
    try:
        found = parse_qs(raw.decode("latin-1"), errors="replace", max_num_fields=16)
    except ValueError as error:
        raise BadRequest(BAD_FORM) from error
    return {name: values[-1] for name, values in found.items()}
