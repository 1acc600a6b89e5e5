"""The OpenID Connect providers that people of the site can sign in with."""

from __future__ import annotations

from typing import Final

from masthead.base.errors import Invalid, Problem
from masthead.engine.records.collection import Record
from masthead.faces.admin.endpoint import Answer, Page, Redirect
from masthead.faces.admin.forms import Ask, Form, empty_record
from masthead.faces.admin.pages.account.sign_in import WITH
from masthead.faces.admin.pages.settings.subnav import SIGN_IN, in_settings
from masthead.faces.admin.request import AdminRequest
from masthead.faces.reader.member.single_sign_on import WITH as MEMBERS_WITH
from masthead.features.single_sign_on.collection import (
    BOTH,
    MEMBERS,
    NO_ROLE,
    STAFF,
    SecondStep,
    sign_in_providers,
)
from masthead.features.single_sign_on.errors import ProviderFailed
from masthead.features.single_sign_on.sign_ons import MAX_PROVIDERS

USED_BY: Final = {STAFF: "Staff", MEMBERS: "Members", BOTH: "Both"}
_TOO_MANY = Problem("too_many", f"A site has at most {MAX_PROVIDERS} providers. Remove one first.")

_FIXED = (
    Ask("slug", "Short name", "Part of the callback address, so it can’t be changed later."),
    Ask(
        "issuer",
        "Issuer",
        "Exactly as the provider writes it, such as https://id.example.com/realms/news.",
    ),
)
_CLIENT = (
    Ask("client_id", "Client ID", "Of this site, at the provider."),
    Ask("client_secret", "Client secret"),
    Ask("extra_scopes", "More scopes", "Besides openid email profile, such as groups."),
)
_PEOPLE = (
    Ask(
        "used_by",
        "Who signs in with it",
        "Staff sign in to the admin, members to the site.",
        choices=USED_BY,
    ),
    Ask("domains", "Email domains", "One a line. If empty, all.", rows=3),
    Ask(
        "creates_accounts",
        "New accounts",
        "People without an account get one when they first sign in: staff with the role below, "
        "readers as members.",
    ),
)
_ROLES = (
    Ask("role_claim", "Claim", "Such as groups. If empty, the roles of accounts stay as they are."),
    Ask(
        "roles",
        "Roles by value",
        "One a line, such as newsroom = editor. It can’t be owner.",
        rows=4,
    ),
    Ask(
        "default_role",
        "Everyone else",
        "Staff without any of these values.",
        choices={
            NO_ROLE: "Can’t sign in",
            "editor": "Editor",
            "author": "Author",
            "contributor": "Contributor",
        },
    ),
)
_SECOND = (
    Ask(
        "second_step",
        "Accounts with a second factor",
        "The provider’s own second factor can replace that of Masthead.",
        choices={
            SecondStep.MASTHEAD: "Ask here",
            SecondStep.CLAIM: "Skip it if the provider reports one (amr)",
            SecondStep.PROVIDER: "Never ask here",
        },
    ),
    Ask("enabled", "In use", "Off hides the button and refuses the sign-in."),
)
_NAME = (Ask("name", "Name", "On the button: “Sign in with …”."),)
_GROUPS: Final = (
    ("", (*_NAME, *_FIXED, *_CLIENT)),
    ("Who may sign in", _PEOPLE),
    ("Roles of staff", _ROLES),
    ("Safety", _SECOND),
)
FORM: Final = Form(sign_in_providers, tuple(ask for _, asks in _GROUPS for ask in asks))
_CHANGED: Final = Form(sign_in_providers, tuple(ask for ask in FORM.asks if ask not in _FIXED))


async def providers_page(request: AdminRequest) -> Answer:
    values = {"rows": await _all(request), "used_by": USED_BY, "address": SIGN_IN}
    return in_settings(request, "sign-in.html", "Sign-in", values)


async def new_form(request: AdminRequest) -> Answer:
    return _page(request)


async def add(request: AdminRequest) -> Answer:
    given = FORM.given(request)
    if not given.get("slug"):
        given.pop("slug", None)
    if len(await _all(request)) >= MAX_PROVIDERS:
        raise Invalid({"name": _TOO_MANY})
    made = await request.records.create(request.caller, sign_in_providers, given)
    return Redirect(f"{SIGN_IN}/{made['id']}", f"{made['name']} is added. Try it now.")


async def provider_form(request: AdminRequest, record_id: str) -> Answer:
    return _page(request, await _provider(request, record_id))


async def save(request: AdminRequest, record_id: str) -> Answer:
    given = _CHANGED.given(request)
    saved = await request.records.update(request.caller, sign_in_providers, record_id, given)
    return Redirect(SIGN_IN, f"{saved['name']} is saved.")


async def try_it(request: AdminRequest, record_id: str) -> Answer:
    """Asks the provider what a sign-in will ask it, as it is now."""
    record = await _provider(request, record_id)
    discovery = request.services.single_sign_on.flow.discovery
    try:
        metadata = await discovery.fetch_metadata(request.tenant_id, record["issuer"])
        keys = await discovery.fetch_keys(request.tenant_id, metadata)
    except ProviderFailed as error:
        return _page(request, record, trial=("bad", f"That did not work. {error.why}"))
    counted = "1 key" if len(keys) == 1 else f"{len(keys)} keys"
    text = f"The provider answers, with {counted}. Now sign in with it in a private window."
    return _page(request, record, trial=("good", text))


async def remove_form(request: AdminRequest, record_id: str) -> Answer:
    record = await _provider(request, record_id)
    values = {"address": f"{SIGN_IN}/{record_id}", "back": SIGN_IN}
    return in_settings(request, "remove-provider.html", f"Remove “{record['name']}”?", values)


async def remove(request: AdminRequest, record_id: str) -> Answer:
    gone = await request.records.delete(request.caller, sign_in_providers, record_id)
    return Redirect(SIGN_IN, f"{gone['name']} is removed.")


async def _all(request: AdminRequest) -> list[Record]:
    return await request.first(sign_in_providers, MAX_PROVIDERS, sort="created")


async def _provider(request: AdminRequest, record_id: str) -> Record:
    """With whether it has a secret, which only the engine reads."""
    record = await request.records.get(request.caller, sign_in_providers, record_id)
    found = await request.records.find_one(
        sign_in_providers, {"id": record_id}, tenant_id=request.tenant_id
    )
    return {**record, "client_secret": found["client_secret"] if found else ""}


def _page(
    request: AdminRequest, record: Record | None = None, *, trial: tuple[str, str] | None = None
) -> Page:
    form, stored = FORM.values(request, record), record or empty_record(sign_in_providers)
    hidden = {ask.name for ask in _FIXED} if record else ()
    title = str(record["name"]) if record else "New provider"
    values = {
        **form,
        "title": title,
        "groups": [
            (heading, [form["fields"][ask.name] for ask in asks if ask.name not in hidden])
            for heading, asks in _GROUPS
        ],
        "action": f"{SIGN_IN}/{record['id'] if record else 'new'}",
        "is_new": record is None,
        "issuer": stored["issuer"],
        "slug": stored["slug"] or "short-name",
        "callbacks": _callbacks(request, stored),
        "trial": trial,
        "back": SIGN_IN,
    }
    return in_settings(request, "provider.html", title, values)


def _callbacks(request: AdminRequest, record: Record) -> list[tuple[str, str]]:
    """Each with what comes before the short name."""
    used_by = record["used_by"]
    is_open = "id" not in record or used_by == BOTH
    found = []
    if is_open or used_by == STAFF:
        found.append(("Callback address for staff", f"{request.site_url}{WITH}/"))
    if is_open or used_by == MEMBERS:
        found.append(("Callback address for members", f"{request.site_url}{MEMBERS_WITH}/"))
    return found
