"""The people who write and run the site: invited, given a role, and removed."""

from __future__ import annotations

from masthead.base.errors import BadRequest, Invalid, NotFound, Problem
from masthead.base.languages.alphabet import by_letters
from masthead.base.languages.words import words
from masthead.engine.records.collection import Record
from masthead.engine.records.read.page import ListRequest
from masthead.faces.admin.endpoint import Answer, Page, Redirect
from masthead.faces.admin.forms import Ask, Form, empty_record, problem_of
from masthead.faces.admin.request import AdminRequest
from masthead.features.single_sign_on.collection import STAFF
from masthead.features.site.collection import site_settings
from masthead.identity.factor_fields import has_second_factor
from masthead.identity.tenants import Role, superusers
from masthead.outside.mail.wording import being_sent

ADDRESS = "/admin/staff"
MAX_STAFF = 200
ROLES: dict[str, str] = {
    Role.OWNER: words("Owner"),
    Role.EDITOR: words("Editor"),
    Role.AUTHOR: words("Author"),
    Role.CONTRIBUTOR: words("Contributor"),
}
WHAT: dict[str, str] = {
    Role.OWNER: words("everything, including settings and people"),
    Role.EDITOR: words("all posts, pages, media, comments and mailings, and the list of members"),
    Role.AUTHOR: words("own posts"),
    Role.CONTRIBUTOR: words("own drafts, which an editor or an owner publishes"),
}
_FORM = Form(
    superusers,
    (
        Ask("email", words("Email address")),
        Ask("name", words("Name"), words("Shown with their posts; they can change it.")),
        Ask("role", words("Role"), words("What the account may do."), choices=ROLES),
    ),
)
_PERSON = Form(superusers, _FORM.asks[1:])
_LABELS = {"require_second_factor": words("Second factor")}


_OWN_FIRST = Problem("second_factor", words("Add one to your own account first."))


async def invite(request: AdminRequest) -> Answer:
    account = await request.tools.invitations.invite(
        request.caller, request.tenant_id, _FORM.given(request), by=_name(request)
    )
    return Redirect(ADDRESS, _sending(request, words("An invitation"), account["email"]))


async def invite_again(request: AdminRequest, account_id: str) -> Answer:
    email = await request.tools.invitations.repeat(
        request.caller, request.tenant_id, account_id, by=_name(request)
    )
    return Redirect(ADDRESS, _sending(request, words("An invitation"), email))


async def save_person(request: AdminRequest, account_id: str) -> Answer:
    await _account(request, account_id)
    given = _PERSON.given(request)
    try:
        await request.records.update(request.caller, superusers, account_id, given)
    except Invalid:
        raise
    except BadRequest as error:
        raise Invalid({"role": problem_of(error)}) from error
    return Redirect(ADDRESS, words("Saved."))


async def remove(request: AdminRequest, account_id: str) -> Answer:
    account = await _account(request, account_id)
    try:
        await request.records.delete(request.caller, superusers, account_id)
    except BadRequest as error:
        request.problems = {"role": problem_of(error)}
        return await person_page(request, account_id)
    return Redirect(
        ADDRESS, words("%(email)s no longer has an account here.", email=account["email"])
    )


async def reset_factors(request: AdminRequest, account_id: str) -> Answer:
    """For someone else who has lost theirs: nobody resets their own."""
    account = await _with_factors(request, account_id)
    if account["id"] == request.caller.id or not has_second_factor(account):
        raise NotFound
    await request.services.factors.reset(request.caller, account)
    return Redirect(
        ADDRESS, words("The second factors of %(email)s are removed.", email=account["email"])
    )


async def sign_out(request: AdminRequest, account_id: str) -> Answer:
    """Somebody else, everywhere: one's own sign-ins are on one's own page."""
    account = await _with_factors(request, account_id)
    if account["id"] == request.caller.id:
        raise NotFound
    sign_ins = request.services.accounts.sign_ins
    await sign_ins.end_all(superusers, account, by=request.caller)
    return Redirect(
        f"{ADDRESS}/{account_id}",
        words("%(email)s is signed out everywhere.", email=account["email"]),
    )


async def require_factors(request: AdminRequest) -> Answer:
    is_on = "require_second_factor" in request.form
    if is_on and not request.is_operator and not has_second_factor(request.account):
        request.problems = {"require_second_factor": _OWN_FIRST}
        return await staff_page(request)
    given = {"require_second_factor": is_on}
    await request.records.update(request.caller, site_settings, request.site_record["id"], given)
    sentence = (
        words("Everyone on the staff now needs a second factor.")
        if is_on
        else words("A second factor is now optional.")
    )
    return Redirect(ADDRESS, sentence)


async def _with_factors(request: AdminRequest, account_id: str) -> Record:
    """With the fields that only the engine reads, and only of this site."""
    await _account(request, account_id)
    return await request.records.require(
        superusers, {"id": account_id}, tenant_id=request.tenant_id
    )


def _sending(request: AdminRequest, what: str, to: str) -> str:
    return being_sent(request.services.settings, what, to)


def _name(request: AdminRequest) -> str:
    return str(request.account["name"] or request.account["email"])


async def _account(request: AdminRequest, account_id: str) -> Record:
    return await request.records.get(request.caller, superusers, account_id)


async def staff_page(request: AdminRequest) -> Answer:
    # Refuses staff who may only read their own account.
    request.records.check_may_create(request.caller, superusers)
    wanted = ListRequest(per_page=MAX_STAFF, sort="name:lower,email")
    page = await request.records.page(request.caller, superusers, wanted)
    everyone = await request.records.find(
        superusers, {}, tenant_id=request.tenant_id, limit=MAX_STAFF
    )
    # Only the engine can read a hash or a factor.
    with_password = {each["id"] for each in everyone if each["password_hash"]}
    connected = await request.services.single_sign_on.staff.connected(request.tenant_id)
    guarded = {each["id"] for each in everyone if has_second_factor(each)}
    values = {
        "people": sorted(page.items, key=_by_name),
        "roles": ROLES,
        "active": with_password | connected,
        "guarded": guarded,
        "own_id": request.caller.id,
        "total": page.total,
        **_FORM.values(request, {**empty_record(superusers), "role": Role.AUTHOR}, labels=_LABELS),
        "role_list": [(ROLES[role], what) for role, what in WHAT.items()],
        "requires_factor": bool(request.site_record.get("require_second_factor")),
    }
    return Page("staff/list.html", words("People"), values)


def _by_name(account: Record) -> tuple[str, str]:
    return by_letters(f"{account['name']} {account['email']}")


async def person_page(request: AdminRequest, account_id: str) -> Answer:
    account = await _account(request, account_id)
    request.records.check_may_create(request.caller, superusers)
    if account["tenant_id"] != request.tenant_id:
        raise NotFound
    values = {
        "account": account,
        "is_self": account["id"] == request.caller.id,
        "is_guarded": has_second_factor(await _with_factors(request, account["id"])),
        "may_return": await _lets_in_anyone_new(request),
        **_PERSON.values(request, account),
        "back": ADDRESS,
        "role_list": [(ROLES[role], what) for role, what in WHAT.items()],
    }
    return Page("staff/person.html", account["name"] or account["email"], values)


async def _lets_in_anyone_new(request: AdminRequest) -> bool:
    """Whether a provider makes accounts for people who have none."""
    providers = await request.services.single_sign_on.flow.providers(request.tenant_id, STAFF)
    return any(each["creates_accounts"] for each in providers)
