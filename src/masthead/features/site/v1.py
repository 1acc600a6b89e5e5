"""The public API of the site settings. Secrets are never shown."""

from __future__ import annotations

from masthead.engine.records.collection import Record
from masthead.engine.records.fields.base import Access
from masthead.features.site.collection import site_settings
from masthead.features.site.design import DESIGN
from masthead.web.v1.call import Call
from masthead.web.v1.routes import get, patch
from masthead.web.v1.schema import Body, View

SETTABLE = (
    "site_name",
    "site_description",
    "site_logo",
    "site_favicon",
    "members_enabled",
    "comments_enabled",
)
NULLABLE = frozenset({"site_description", "site_logo", "site_favicon"})
DESIGN_FIELDS = tuple(each.name for each in DESIGN if each.write < Access.PLATFORM)

SITE_SETTINGS = View(
    "SiteSettings",
    site_settings,
    ("id", "tenant_id", *SETTABLE, "created", "updated", *DESIGN_FIELDS),
    nullable=NULLABLE,
    where_set=frozenset(DESIGN_FIELDS),
)
UPDATE = Body(
    "SiteSettingsUpdate",
    site_settings,
    (*SETTABLE, *DESIGN_FIELDS),
    required=frozenset({"site_name"}),
    nullable=NULLABLE | frozenset(DESIGN_FIELDS),
    partial=True,
    rejects_unknown=True,
)


_NO_SETTINGS = "This site has no settings yet."


async def get_site_settings(call: Call) -> Record:
    return await call.records.require(
        site_settings, {}, tenant_id=call.tenant.id, missing=_NO_SETTINGS
    )


async def update_site_settings(call: Call) -> Record:
    settings = await call.unit.require(site_settings, {}, missing=_NO_SETTINGS)
    # From the registry, because its validators know the themes of this installation.
    collection = call.records.registry[site_settings.name]
    return await call.unit.update(
        collection, settings["id"], call.body, expected_version=call.expected_version
    )


routes = (
    get(
        "/site-settings",
        get_site_settings,
        scope="site-settings:read",
        view=SITE_SETTINGS,
        summary="View the site's settings",
    ),
    patch(
        "/site-settings",
        update_site_settings,
        scope="settings:write",
        view=SITE_SETTINGS,
        body=UPDATE,
        summary="Change the site's settings",
    ),
)
