"""The commands that create and change records, each on both databases."""

from __future__ import annotations

import re

from tests.service.cli.commands import Masthead

from masthead.base.ids import TenantId, is_id
from masthead.features.members.collection import blog_members
from masthead.features.site.collection import site_settings
from masthead.identity.api_keys import api_keys, hash_key, is_well_formed
from masthead.identity.tenants import superusers, tenants


class TestTenantCreate:
    def test_makes_the_tenant_its_settings_and_its_owner(self, masthead: Masthead) -> None:
        made = masthead.tenant("acme", plan="business", **{"custom-domain": "Blog.Example.COM"})
        assert set(made) == {"tenant_id", "slug", "owner_id"}
        tenant_id = TenantId(made["tenant_id"])

        async def look(parts):
            (tenant,) = await parts.records.find(tenants, {"slug": "acme"})
            (settings,) = await parts.records.find(site_settings, {}, tenant_id=tenant_id)
            return tenant, settings

        tenant, settings = masthead.inside(look)
        assert (tenant["id"], tenant["plan"]) == (tenant_id, "business")
        assert tenant["owner_id"] == made["owner_id"]
        assert settings["site_name"] == "Acme"
        assert settings["custom_domain"] == "blog.example.com"

    def test_the_owner_can_sign_in(self, masthead: Masthead) -> None:
        made = masthead.tenant()

        async def sign_in(parts):
            return await parts.accounts.sign_in(
                superusers,
                TenantId(made["tenant_id"]),
                "owner@acme.example",
                "correct horse",
                address="127.0.0.1",
            )

        assert masthead.inside(sign_in).caller.id == made["owner_id"]

    def test_a_taken_slug_is_refused_and_leaves_nothing_behind(self, masthead: Masthead) -> None:
        masthead.tenant("acme")
        arguments = (
            "--name Other --plan pro --owner-email x@example.com --owner-password a-long-word"
        )
        refused = masthead("tenant", "create", "--slug", "acme", *arguments.split())
        assert (refused.code, refused.out) == (1, "")
        assert refused.err == "masthead: --slug: This value is taken. Choose another one.\n"

        async def owners(parts):
            return await parts.records.find(superusers, {"email": "x@example.com"})

        assert masthead.inside(owners) == []

    def test_errors_name_the_option(self, masthead: Masthead) -> None:
        arguments = (
            "--slug acme --name A --plan pro --owner-email nobody --owner-password a-long-word"
        )
        refused = masthead("tenant", "create", *arguments.split())
        assert (refused.code, refused.out) == (1, "")
        rule = "Must be an email address, such as ada@example.com."
        assert refused.err == f"masthead: --owner-email: {rule}\n"


class TestTenants:
    def test_are_listed_by_slug(self, masthead: Masthead) -> None:
        assert masthead.json("tenant", "list") == []
        masthead.tenant("zebra")
        masthead.tenant("acme")
        listed = masthead.json("tenant", "list")
        assert [each["slug"] for each in listed] == ["acme", "zebra"]
        assert "acme" in masthead("tenant", "list").out

    def test_an_enterprise_tenant_may_have_limits_of_its_own(self, masthead: Masthead) -> None:
        masthead.tenant()
        changed = masthead.json("tenant", "set-plan", "acme", "enterprise", "--per-minute", "10")
        assert (changed["plan"], changed["per_minute"], changed["per_hour"]) == (
            "enterprise",
            10,
            None,
        )
        changed = masthead.json("tenant", "set-plan", "acme", "pro")
        assert (changed["plan"], changed["per_minute"]) == ("pro", None)

    def test_the_free_plan_says_what_stops(self, masthead: Masthead) -> None:
        masthead.tenant()
        freed = masthead("tenant", "set-plan", "acme", "free")
        assert freed.out == "Tenant acme is on plan free.\n"
        assert freed.err.startswith("masthead: On free, API keys get a 403")
        made = masthead("key", "create", "--tenant", "acme", "--name", "n", "--scope", "posts:read")
        assert made.code == 0
        assert made.err.startswith("masthead: acme is on free. There, API keys get a 403")

    def test_an_unknown_tenant_is_a_failure(self, masthead: Masthead) -> None:
        refused = masthead("tenant", "set-plan", "nobody", "pro")
        assert refused.code == 1
        assert "There is no tenant 'nobody'" in refused.err


class TestOperatorCreate:
    def test_makes_an_administrator_without_a_tenant(self, masthead: Masthead) -> None:
        arguments = (
            "operator",
            "create",
            "--email",
            "Op@Example.com",
            "--password",
            "a-long-word",
        )
        made = masthead.json(*arguments)

        async def look(parts):
            return await parts.records.find(superusers, {"id": made["id"]})

        (operator,) = masthead.inside(look)
        assert (operator["tenant_id"], operator["email"]) == ("", "op@example.com")
        again = masthead(*arguments)
        assert (again.code, again.out) == (1, "")
        assert "already" in again.err


class TestKeys:
    def make(self, masthead: Masthead, *more: str) -> dict[str, str]:
        masthead.tenant()
        scopes = ("--scope", "posts:read", "--scope", "uploads:write")
        return masthead.json("key", "create", "--tenant", "acme", "--name", "App", *scopes, *more)

    def test_only_the_digest_is_stored(self, masthead: Masthead) -> None:
        made = self.make(masthead)
        assert set(made) == {"id", "key"}
        assert is_well_formed(made["key"])

        async def look(parts):
            return await parts.records.find(api_keys, {"key_hash": hash_key(made["key"])})

        (stored,) = masthead.inside(look)
        assert stored["scopes"] == ["posts:read", "uploads:write"]
        assert made["key"] not in str(stored)

    def test_the_list_shows_neither_key_nor_digest(self, masthead: Masthead) -> None:
        made = self.make(masthead, "--expires", "2031-01-01")
        listed = masthead("key", "list", "--tenant", "acme", "--json")
        (shown,) = listed.json
        assert shown["expires_at"] == "2031-01-01T00:00:00.000Z"
        assert made["key"] not in listed.out
        assert hash_key(made["key"]) not in listed.out

    def test_revoking_twice_keeps_the_first_moment(self, masthead: Masthead) -> None:
        made = self.make(masthead)
        first = masthead.json("key", "revoke", made["id"])["revoked_at"]
        assert first
        assert masthead.json("key", "revoke", made["id"])["revoked_at"] == first
        assert masthead("key", "revoke", "nothing").code == 1


def test_a_member_is_created_with_the_given_values(masthead: Masthead) -> None:
    masthead.tenant()
    made = masthead.json(
        *("member", "create", "--tenant", "acme", "--email", "Ann@Example.com"),
        *("--tier", "paid", "--newsletter", "--name", "Ann", "--password", "a-long-word"),
    )
    assert is_id(made["id"])

    async def look(parts):
        return await parts.records.find(blog_members, {"id": made["id"]})

    (member,) = masthead.inside(look)
    assert (member["email"], member["tier"], member["newsletter"], member["name"]) == (
        "ann@example.com",
        "paid",
        True,
        "Ann",
    )
    assert member["password_hash"].startswith("$argon2id$")
    plain = masthead.json("member", "create", "--tenant", "acme", "--email", "bob@example.com")
    assert is_id(plain["id"])


class TestSettings:
    def test_are_set_by_name_and_read_back(self, masthead: Masthead) -> None:
        masthead.tenant()
        masthead.json(
            *("settings", "set", "--tenant", "acme"),
            *("comments_enabled=false", "ai_per_minute=5", "custom_domain=Blog.Example.com"),
            "site_description=a = b",
        )
        shown = masthead.json("settings", "get", "--tenant", "acme")
        assert shown["comments_enabled"] is False
        assert shown["ai_per_minute"] == 5
        assert shown["custom_domain"] == "blog.example.com"
        assert shown["site_description"] == "a = b"
        cleared = masthead.json("settings", "set", "--tenant", "acme", "custom_domain=")
        assert cleared["custom_domain"] == ""

    def test_a_list_is_shown_as_it_is_set(self, masthead: Masthead) -> None:
        masthead.tenant()
        setting = 'languages=["fr","pt-BR"]'
        masthead("settings", "set", "--tenant", "acme", setting)
        assert setting in masthead("settings", "get", "--tenant", "acme").out.splitlines()

    def test_a_secret_is_stored_and_never_printed(self, masthead: Masthead) -> None:
        made = masthead.tenant()
        said = masthead("settings", "set", "--tenant", "acme", "ai_api_key=sk-wonder", "--json")
        got = masthead("settings", "get", "--tenant", "acme")
        assert said.json["ai_api_key"] == "set"
        assert re.search(r"^ai_api_key=set$", got.out, re.MULTILINE)
        assert "sk-wonder" not in said.out + said.err + got.out + got.err

        async def reveal(parts):
            tenant_id = TenantId(made["tenant_id"])
            (settings,) = await parts.records.find(site_settings, {}, tenant_id=tenant_id)
            assert "sk-wonder" not in settings["ai_api_key"]
            return parts.records.reveal(site_settings, settings, "ai_api_key")

        assert masthead.inside(reveal) == "sk-wonder"

    def test_a_value_of_the_wrong_kind_is_refused(self, masthead: Masthead) -> None:
        masthead.tenant()
        refused = masthead("settings", "set", "--tenant", "acme", "comments_enabled=maybe")
        assert refused.code == 1
        assert refused.err == "masthead: comments_enabled: Must be true or false.\n"
        refused = masthead("settings", "set", "--tenant", "acme", "custom_domain=not a domain")
        assert refused.code == 1
        assert "custom_domain: Must be a domain name" in refused.err

    def test_an_ai_address_that_the_operator_does_not_allow_is_refused(
        self, masthead: Masthead
    ) -> None:
        masthead.tenant()
        ours = ("settings", "set", "--tenant", "acme")
        refused = masthead(*ours, "ai_base_url=https://example.com/v1")
        assert refused.code == 1
        assert "the operator allows" in refused.err
        assert masthead(*ours, "ai_base_url=https://api.groq.com/openai/v1").code == 0
