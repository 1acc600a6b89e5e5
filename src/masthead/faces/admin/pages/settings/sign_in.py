"""The OpenID Connect providers that people of the site can sign in with."""

from __future__ import annotations

from typing import Final

from masthead.base.errors import Invalid, Problem
from masthead.base.languages.words import counted, words
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

USED_BY: Final = {STAFF: words("Staff"), MEMBERS: words("Members"), BOTH: words("Both")}
_TOO_MANY = Problem(
    "too_many",
    words(
        "A site has at most %(max_providers)s providers. Remove one first.",
        max_providers=MAX_PROVIDERS,
    ),
)

_FIXED = (
    Ask(
        "slug",
        words("Short name"),
        words("Part of the callback address, so it can’t be changed later."),
    ),
    Ask(
        "issuer",
        words("Issuer"),
        words("Exactly as the provider writes it, such as https://id.example.com/realms/news."),
    ),
)
_CLIENT = (
    Ask("client_id", words("Client ID"), words("Of this site, at the provider.")),
    Ask("client_secret", words("Client secret"), words("Empty for a public client.")),
    Ask(
        "extra_scopes", words("More scopes"), words("Besides openid email profile, such as groups.")
    ),
)
_PEOPLE = (
    Ask(
        "used_by",
        words("Who signs in with it"),
        words("Staff sign in to the admin, members to the site."),
        choices=USED_BY,
    ),
    Ask("domains", words("Email domains"), words("One a line. If empty, all."), rows=3),
    Ask(
        "creates_accounts",
        words("New accounts"),
        words(
            "People without an account get one when they first sign in: staff with the role below, "
            "readers as members."
        ),
    ),
)
_ROLES = (
    Ask(
        "role_claim",
        words("Claim"),
        words("Such as groups. If empty, the roles of accounts stay as they are."),
    ),
    Ask(
        "roles",
        words("Roles by value"),
        words("One a line, such as newsroom = editor. It can’t be owner."),
        rows=4,
    ),
    Ask(
        "default_role",
        words("Everyone else"),
        words("Staff without any of these values."),
        choices={
            NO_ROLE: words("Can’t sign in"),
            "editor": words("Editor"),
            "author": words("Author"),
            "contributor": words("Contributor"),
        },
    ),
)
_SECOND = (
    Ask(
        "second_step",
        words("Accounts with a second factor"),
        words("The provider’s own second factor can replace that of Masthead."),
        choices={
            SecondStep.MASTHEAD: words("Ask here"),
            SecondStep.CLAIM: words("Skip it if the provider reports one (amr)"),
            SecondStep.PROVIDER: words("Never ask here"),
        },
    ),
    Ask("enabled", words("In use"), words("Off hides the button and refuses the sign-in.")),
)
_NAME = (Ask("name", words("Name"), words("On the button: “Sign in with …”.")),)
_GROUPS: Final = (
    ("", (*_NAME, *_FIXED, *_CLIENT)),
    (words("Who may sign in"), _PEOPLE),
    (words("Roles of staff"), _ROLES),
    (words("Safety"), _SECOND),
)
FORM: Final = Form(sign_in_providers, tuple(ask for _, asks in _GROUPS for ask in asks))
_CHANGED: Final = Form(sign_in_providers, tuple(ask for ask in FORM.asks if ask not in _FIXED))


async def providers_page(request: AdminRequest) -> Answer:
    values = {"rows": await _all(request), "used_by": USED_BY, "address": SIGN_IN}
    return in_settings(request, "sign-in.html", words("Sign-in"), values)


async def new_form(request: AdminRequest) -> Answer:
    return _page(request)


async def add(request: AdminRequest) -> Answer:
    given = FORM.given(request)
    if not given.get("slug"):
        given.pop("slug", None)
    if len(await _all(request)) >= MAX_PROVIDERS:
        raise Invalid({"name": _TOO_MANY})
    made = await request.records.create(request.caller, sign_in_providers, given)
    return Redirect(
        f"{SIGN_IN}/{made['id']}", words("%(name)s is added. Try it now.", name=made["name"])
    )


async def provider_form(request: AdminRequest, record_id: str) -> Answer:
    return _page(request, await _provider(request, record_id))


async def save(request: AdminRequest, record_id: str) -> Answer:
    given = _CHANGED.given(request)
    saved = await request.records.update(request.caller, sign_in_providers, record_id, given)
    return Redirect(SIGN_IN, words("%(name)s is saved.", name=saved["name"]))


async def try_it(request: AdminRequest, record_id: str) -> Answer:
    """Asks the provider what a sign-in will ask it, as it is now."""
    record = await _provider(request, record_id)
    discovery = request.services.single_sign_on.flow.discovery
    try:
        metadata = await discovery.fetch_metadata(request.tenant_id, record["issuer"])
        keys = await discovery.fetch_keys(request.tenant_id, metadata)
    except ProviderFailed as error:
        return _page(
            request, record, trial=("bad", words("That did not work. %(why)s", why=error.why))
        )
    text = counted(
        "The provider answers, with one key. Now sign in with it in a private window.",
        "The provider answers, with %(number)s keys. Now sign in with it in a private window.",
        len(keys),
    )
    return _page(request, record, trial=("good", text))


async def remove_form(request: AdminRequest, record_id: str) -> Answer:
    record = await _provider(request, record_id)
    values = {"address": f"{SIGN_IN}/{record_id}", "back": SIGN_IN}
    return in_settings(
        request, "remove-provider.html", words("Remove “%(name)s”?", name=record["name"]), values
    )


async def remove(request: AdminRequest, record_id: str) -> Answer:
    gone = await request.records.delete(request.caller, sign_in_providers, record_id)
    return Redirect(SIGN_IN, words("%(name)s is removed.", name=gone["name"]))


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
    title = str(record["name"]) if record else words("New provider")
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
        found.append((words("Callback address for staff"), f"{request.site_url}{WITH}/"))
    if is_open or used_by == MEMBERS:
        found.append((words("Callback address for members"), f"{request.site_url}{MEMBERS_WITH}/"))
    return found
