"""The site's own domain: asked for, proven by a TXT record, served, and given up."""

from __future__ import annotations

from msgspec.structs import replace

from masthead.base.errors import NotFound, RateLimited
from masthead.base.languages.words import words
from masthead.faces.admin.endpoint import Answer, Page, Redirect
from masthead.faces.admin.forms import Ask, Form
from masthead.faces.admin.pages.settings.subnav import DOMAIN, in_settings
from masthead.faces.admin.request import AdminRequest
from masthead.features.site.address import site_url
from masthead.features.site.collection import site_settings
from masthead.features.site.domain_proof import Outcome
from masthead.web.errors import retry_after

_ASKS = (
    Ask("wanted_domain", words("Domain"), words("Such as blog.example.com, without https://.")),
)
_SENTENCES = {
    Outcome.MISSING: words(
        "There is no TXT record with this name yet. New records can take "
        "minutes, sometimes hours, to appear everywhere."
    ),
    Outcome.DIFFERENT: words(
        "There is a TXT record with this name, but with another value. "
        "Compare it with the one below."
    ),
    Outcome.UNREACHABLE: words(
        "The name servers of this domain did not answer. Try again in a minute."
    ),
    Outcome.TAKEN: words(
        "The record is right, but another site of this service uses this domain. "
        "Remove it there first, or ask the operator."
    ),
}


async def ask_for_domain(request: AdminRequest) -> Answer:
    form = _form(request)
    given = form.given(request)
    await request.records.update(request.caller, form.collection, request.site_record["id"], given)
    if not given.get("wanted_domain"):
        return Redirect(DOMAIN, words("The request is withdrawn."))
    return Redirect(DOMAIN, words("Set the records below, then check them."))


async def check_domain(request: AdminRequest) -> Answer:
    """Called by the button, and every few seconds while the page is open."""
    wanted = request.site_record["wanted_domain"]
    if not wanted:
        return Redirect(DOMAIN)
    try:
        outcome = await request.tools.domains.check(request.caller, request.site_record)
    except RateLimited as error:
        # Only the part of the page, which htmx may put in place of the last one.
        headers = tuple(retry_after(429, error))
        return replace(_page(request, str(error)), status=429, headers=headers)
    if outcome is Outcome.PROVEN:
        return Redirect(
            DOMAIN, words("%(wanted)s is yours. The site is now served there.", wanted=wanted)
        )
    return _page(request, _SENTENCES[outcome])


async def remove_form(request: AdminRequest) -> Answer:
    if not request.site_record["custom_domain"]:
        raise NotFound
    values = {"domain": request.site_record["custom_domain"], **_addresses(request)}
    return in_settings(request, "remove-domain.html", words("Remove the domain?"), values)


async def remove_domain(request: AdminRequest) -> Answer:
    if not request.site_record["custom_domain"]:
        raise NotFound
    await request.tools.domains.remove(request.caller, request.site_record)
    return Redirect(
        DOMAIN,
        words("The site is at %(subdomain)s only.", subdomain=_addresses(request)["subdomain"]),
    )


async def address_check(request: AdminRequest) -> Answer:
    """Apart from the page, which must not wait for name servers."""
    domain = request.site_record["custom_domain"]
    if not request.is_fragment or not domain:
        return Redirect(DOMAIN)
    target = str(_addresses(request)["target"])
    template = "settings/_address.html"
    values = {"domain": domain, "target": target, "refusal": ""}
    try:
        is_here = await request.tools.domains.points_at(request.tenant_id, domain, target)
    except RateLimited as error:
        headers = tuple(retry_after(429, error))
        values |= {"refusal": str(error)}
        return Page(template, words("Address"), values, 429, fragment=template, headers=headers)
    return Page(template, words("Address"), values | {"is_here": is_here}, fragment=template)


def _form(request: AdminRequest) -> Form:
    # From the registry: there the field knows the platform's own domain.
    return Form(request.records.registry[site_settings.name], _ASKS)


def _addresses(request: AdminRequest) -> dict[str, str]:
    settings = request.services.settings
    subdomain = site_url(settings, request.tenant.slug)
    return {
        "subdomain": subdomain.partition("://")[2],
        "target": f"{request.tenant.slug}.{settings.base_domain}",
        "back": DOMAIN,
    }


async def domain_page(request: AdminRequest) -> Answer:
    return _page(request)


def _page(request: AdminRequest, outcome: str = "") -> Page:
    record = request.site_record
    wanted = record["wanted_domain"]
    values = {
        "custom_domain": record["custom_domain"],
        "wanted": wanted,
        "proof": request.tools.domains.record_of(request.tenant_id, wanted) if wanted else None,
        "outcome": outcome,
        "checked": f"{request.now:%H:%M:%S}",
        **_form(request).values(request, record),
        "address": DOMAIN,
        **_addresses(request),
    }
    page = in_settings(request, "domain.html", words("Domain"), values)
    return replace(page, fragment="settings/_proof.html")
