"""For operators: the sites of the service. They make one, change its plan, and choose one to work
in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from masthead.base.caller import in_tenant
from masthead.base.errors import Invalid, NotFound, Problem
from masthead.base.ids import TenantId
from masthead.base.languages.words import words
from masthead.engine.audit.collection import OPENED
from masthead.engine.audit.entries import log_action
from masthead.engine.records.collection import Record
from masthead.engine.records.filter.ast import Comparison, Expression, Identifier, Literal, Or
from masthead.engine.records.read.page import ListRequest
from masthead.faces.admin.endpoint import Answer, Page, Redirect
from masthead.faces.admin.environment import day, size_text
from masthead.faces.admin.flash import admin_cookie
from masthead.faces.admin.forms import Ask, Form
from masthead.faces.admin.lists import Listing, ListPage, Pick, Search
from masthead.faces.admin.request import AdminRequest
from masthead.features.comments.collection import comments
from masthead.features.media.collection import media
from masthead.features.members.collection import blog_members
from masthead.features.posts.collection import posts
from masthead.features.site.address import site_url
from masthead.features.trash.collection import trash
from masthead.identity.limits.plans import Plan
from masthead.identity.setup import NewTenant, create_tenant
from masthead.identity.tenants import TenantStatus, superusers, tenants
from masthead.outside.mail.wording import being_sent
from masthead.storage.sizes import database_bytes, free_bytes
from masthead.web.staff import SITE_COOKIE

ADDRESS = "/admin/tenants"
NEW = "/admin/tenants/new"
IMPORT = "/admin/tenants/import"
_SESSION_SECONDS = 24 * 3600

PLANS: dict[str, str] = {
    Plan.FREE: words("Free"),
    Plan.PRO: words("Pro"),
    Plan.BUSINESS: words("Business"),
    Plan.AGENCY: words("Agency"),
    Plan.ENTERPRISE: words("Enterprise"),
}
_PLANS = Ask("plan", words("Plan"), words("Decides API access and rate limits."), choices=PLANS)
_PLAN = Form(
    tenants,
    (
        _PLANS,
        Ask(
            "per_minute", words("API calls a minute"), words("If empty, the plan’s limit applies.")
        ),
        Ask("per_hour", words("API calls an hour"), words("If empty, the plan’s limit applies.")),
        Ask("per_day", words("API calls a day"), words("If empty, the plan’s limit applies.")),
    ),
)
_SITE = Form(
    tenants,
    (
        Ask("name", words("Name of the site")),
        Ask(
            "slug",
            words("Address"),
            words("The first part of the host name. It can't be changed later."),
        ),
        _PLANS,
    ),
)
_OWNER = Form(
    superusers,
    (
        Ask(
            "email",
            words("Owner’s email address"),
            words("Gets an invitation to choose a password."),
        ),
    ),
)
STATES: dict[str, str] = {
    TenantStatus.ACTIVE: words("Active"),
    TenantStatus.SUSPENDED: words("Suspended"),
}
_SIZES = (
    (words("Posts"), posts),
    (words("Files"), media),
    (words("Members"), blog_members),
    (words("Comments"), comments),
)


class TenantList(ListPage, frozen=True):
    address = ADDRESS
    title = words("Sites")
    about = words("Choose a site to work in.")
    collection = tenants
    template = "operator/_tenants.html"
    page = "operator/tenants.html"
    picks = (Pick("status", words("State"), words("Any state"), STATES),)
    search = Search(words("Search names and addresses"))
    empty = (words("No site yet"), words("A site has its own posts, members and staff."))
    no_match = (
        words("No site matches"),
        words("Try a part of its name or address, or another state."),
    )
    per_page = 50

    q: str = ""
    status: str = ""

    @property
    def is_counted(self) -> bool:
        return not self.is_narrow

    def conditions(self, request: AdminRequest) -> list[Expression]:
        words = Literal(self.q)
        named = [Comparison(Identifier((name,)), "~", words) for name in ("name", "slug")]
        return [*([Or(tuple(named))] if self.q else []), *super().conditions(request)]

    def listing(self, request: AdminRequest) -> Listing:
        return replace(super().listing(request), caller=request.everywhere)

    async def values(self, request: AdminRequest, items: Sequence[Record]) -> dict[str, Any]:
        ids, counts = [each["id"] for each in items], request.records.counts
        return {
            "rows": [await _describe_tenant(request, each) for each in items],
            "posts": await counts.by_tenant(posts, ids),
            "members": await counts.by_tenant(blog_members, ids),
            "media": await counts.by_tenant(media, ids, summed="size"),
            "storage": await _storage(request),
        }


async def new_form(request: AdminRequest) -> Answer:
    caller = request.everywhere
    site, owner = _SITE.values(request, caller=caller), _OWNER.values(request, caller=caller)
    fields = {**site["fields"], **owner["fields"]}
    values = {
        "fields": fields,
        "problems": {**owner["problems"], **site["problems"]},
        "back": ADDRESS,
    }
    return Page("operator/new-tenant.html", words("New site"), values)


async def create(request: AdminRequest) -> Answer:
    site, owner = _SITE.given(request), _OWNER.given(request)
    if site.get("plan") not in PLANS:
        raise Invalid({"plan": Problem("validation_invalid_value", words("Choose a plan."))})
    new = NewTenant(
        slug=site.get("slug", ""),
        name=site.get("name", ""),
        plan=Plan(site["plan"]),
        owner_email=owner.get("email", ""),
        owner_password="",
    )
    try:
        made = await create_tenant(request.records, new, request.everywhere)
    except Invalid as error:
        raise Invalid(_own_names(error.problems)) from error
    await _invite(request, made.tenant_id, made.owner_id)
    sent = being_sent(request.services.settings, words("An invitation"), new.owner_email)
    return Redirect(
        f"{ADDRESS}/{made.tenant_id}",
        words("%(name)s is ready. %(sent)s", name=new.name, sent=sent),
    )


async def save_plan(request: AdminRequest, tenant_id: str) -> Answer:
    caller = in_tenant(request.caller, TenantId(tenant_id))
    try:
        await request.records.update(caller, tenants, tenant_id, _PLAN.given(request, caller))
    except Invalid as error:
        request.problems = error.problems
        return await tenant_page(request, tenant_id)
    return Redirect(
        f"{ADDRESS}/{tenant_id}", words("Saved. The new limits apply from the next call.")
    )


async def invite_owner(request: AdminRequest, tenant_id: str) -> Answer:
    tenant = await find_tenant(request, tenant_id)
    email = await _invite(request, TenantId(tenant_id), tenant["owner_id"])
    sent = being_sent(request.services.settings, words("An invitation"), email)
    return Redirect(f"{ADDRESS}/{tenant_id}", sent)


async def choose_tenant(request: AdminRequest, tenant_id: str) -> Answer:
    """On the service's own host. A site's own address shows only that site."""
    tenant = await request.services.directory.by_id(tenant_id)
    if tenant is None:
        raise NotFound
    if request.context.tenant is not None:
        return Redirect(f"{site_url(request.services.settings, tenant.slug)}/admin")
    async with request.records.unit(in_tenant(request.caller, tenant.id)) as unit:
        log_action(unit, OPENED)
    cookie = admin_cookie(
        SITE_COOKIE, tenant.id, seconds=_SESSION_SECONDS, is_https=request.context.is_https
    )
    return Redirect("/admin", words("You are in %(name)s now.", name=tenant.name), (cookie,))


async def find_tenant(request: AdminRequest, tenant_id: str) -> Record:
    return await request.records.get(request.everywhere, tenants, tenant_id)


async def _invite(request: AdminRequest, tenant_id: TenantId, owner_id: str) -> str:
    return await request.tools.invitations.repeat(
        in_tenant(request.caller, tenant_id),
        tenant_id,
        owner_id,
        by=str(request.account["name"] or request.account["email"]),
    )


async def tenant_page(request: AdminRequest, tenant_id: str) -> Answer:
    tenant = await find_tenant(request, tenant_id)
    caller = in_tenant(request.caller, TenantId(tenant_id))
    one = ListRequest(per_page=1, names=frozenset({"id"}))
    sizes = [
        (label, (await request.records.page(caller, collection, one)).total)
        for label, collection in _SIZES
    ]
    counts = request.records.counts
    stored = await counts.by_tenant(media, [tenant["id"]], summed="size")
    thrown_away = await counts.by_tenant(trash, [tenant["id"]], summed="size")
    owner = await request.records.find_one(
        superusers, {"id": tenant["owner_id"]}, tenant_id=TenantId(tenant["id"])
    )
    values = {
        "row": await _describe_tenant(request, tenant),
        "suspended_at": tenant["suspended_at"] and request.local(tenant["suspended_at"]),
        "reason": tenant["suspension_reason"],
        "deletion": await _deletion_day(request, TenantId(tenant["id"])),
        **_PLAN.values(request, tenant, caller),
        "sizes": sizes,
        "media_bytes": size_text(stored.get(tenant["id"], 0)),
        "trash_bytes": size_text(thrown_away.get(tenant["id"], 0)),
        "owner": owner["email"] if owner else "",
        "is_invited": owner is not None and not owner["password_hash"],
        "back": ADDRESS,
    }
    return Page("operator/tenant.html", tenant["name"], values)


async def _storage(request: AdminRequest) -> list[tuple[str, str]]:
    """The service's own figures. None of them reads the rows of a site."""
    settings = request.services.settings
    size = await database_bytes(request.records.database, settings.sqlite_path)
    free = await free_bytes(settings.data_dir)
    shown = words("Not known") if free is None else size_text(free)
    counts = request.records.counts
    return [
        (words("Database"), size_text(size)),
        (words("Media"), size_text(await counts.sum_of_all(media, "size"))),
        (words("Media in the trash"), size_text(await counts.sum_of_all(trash, "size"))),
        (words("Free disk"), shown),
    ]


async def _deletion_day(request: AdminRequest, tenant_id: TenantId) -> str:
    planned = await request.services.privacy.requests.planned_deletion(tenant_id)
    if planned is None:
        return ""
    return day(request.local(planned["grace_until"]))


async def _describe_tenant(request: AdminRequest, tenant: Record) -> Record:
    """A site that is suspended and waits for its deletion is on its way out."""
    found = await request.services.directory.by_id(tenant["id"])
    badge = "good", words("Active")
    if found is not None and found.deleted_at:
        badge = "warn", words("Being deleted")
    elif found is not None and found.is_suspended:
        badge = "bad", words("Suspended")
    return tenant | {
        "badge": badge,
        "plan": PLANS[tenant["plan"]],
        "url": site_url(request.services.settings, tenant["slug"]),
        "is_here": request.site is not None and tenant["id"] == request.site.id,
    }


def _own_names(problems: Mapping[str, Problem]) -> dict[str, Problem]:
    """The settings of the new site get their name from the same field."""
    return {("name" if name == "site_name" else name): each for name, each in problems.items()}
