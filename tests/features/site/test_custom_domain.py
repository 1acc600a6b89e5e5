"""A custom domain is outside the platform's domain, through every API."""

from __future__ import annotations

import pytest
from tests.world import Account, TenantWorld, World, records_of

from masthead.engine.records.fields.base import FieldError
from masthead.features.site.custom_domain import CustomDomain

FIELD = CustomDomain(name="custom_domain", base_domain="masthead.example")


@pytest.mark.parametrize(
    ("written", "stored"),
    [
        ("", ""),
        (" ", ""),
        ("Blog.Example.COM", "blog.example.com"),
        (" example.org. ", "example.org"),
        ("notmasthead.example", "notmasthead.example"),
    ],
)
def test_a_custom_domain_is_stored_lower_case(written: str, stored: str) -> None:
    assert FIELD.check(written) == stored


@pytest.mark.parametrize(
    "written",
    [
        "localhost",
        "192.0.2.1",
        "[2001:db8::1]",
        "example.com:8080",
        "https://example.com",
        "a b.example",
        "bücher.example",
        "masthead.example",
        "other.masthead.example",
    ],
)
def test_an_invalid_domain_is_refused(written: str) -> None:
    with pytest.raises(FieldError):
        FIELD.check(written)


async def test_it_is_refused_through_the_record_store_too(
    app: World, tenant: TenantWorld, operator: Account
) -> None:
    found = await app.parts.records.find(app.collection("site_settings"), {}, tenant_id=tenant.id)
    path = records_of("site_settings", found[0]["id"])
    for domain in ("no domain", f"x.{app.parts.settings.base_domain}"):
        refused = await operator.api.patch(path, json={"custom_domain": domain})
        assert refused.status_code == 400
        assert "custom_domain" in refused.json()["data"]
    domain = f"Blog.{tenant.slug}.example"
    accepted = await operator.api.patch(path, json={"custom_domain": domain})
    assert accepted.json()["custom_domain"] == domain.lower()
