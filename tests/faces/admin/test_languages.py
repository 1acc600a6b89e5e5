"""The languages of a site in the admin: a text and a member can have one of them."""

from __future__ import annotations

from tests.faces.admin.filled_form import filled
from tests.faces.admin.publishing import carry_out
from tests.faces.admin.visitor import staff
from tests.world import TenantWorld

from masthead.features.members.collection import blog_members
from masthead.features.site.collection import site_settings


async def test_languages_are_set_and_chosen(tenant: TenantWorld) -> None:
    owner = (await staff(tenant, "owner"))[0]
    find = tenant.world.parts.records.find
    assert 'name="language"' not in (await owner.get("/admin/posts/new")).text
    form = filled((await owner.get("/admin/settings")).text)
    answer = await owner.post(
        "/admin/settings", form | {"language": "de", "languages": "FR, pt-br"}
    )
    assert answer.status_code == 303
    [settings] = await find(site_settings, {}, tenant_id=tenant.id)
    assert (settings["language"], settings["languages"]) == ("de", ["fr", "pt-BR"])
    page = (await owner.get("/admin/posts/new")).text
    assert "Français" in page
    assert "Português" in page
    form = filled(page) | {"title": "Phare", "content_html": "<p>La tour</p>", "language": "fr"}
    answer = await owner.post("/admin/posts/new", form | {"action": "save"})
    address = answer.headers["location"]
    await carry_out(owner, address, filled(await owner.follow(answer)))
    assert (await tenant.guest.get("/fr/posts/phare")).status_code == 200
    # A change of the language of a published post goes live with its other changes.
    form = filled((await owner.get(address)).text) | {"language": "", "action": "save"}
    await owner.follow(await owner.post(address, form))
    assert (await tenant.guest.get("/fr/posts/phare")).status_code == 200
    member = await tenant.member()
    path = f"/admin/members/{member.id}"
    form = filled((await owner.get(path)).text)
    assert (await owner.post(path, form | {"language": "fr"})).status_code == 303
    [stored] = await find(blog_members, {"id": member.id}, tenant_id=tenant.id)
    assert stored["language"] == "fr"


async def test_translations_are_given_a_line_for_each(tenant: TenantWorld) -> None:
    owner = (await staff(tenant, "owner"))[0]
    assert 'name="translations"' not in (await owner.get("/admin/posts/new")).text
    await tenant.settings(language="de", languages=["fr", "pt-BR"])
    for kind in ("posts", "pages"):
        page = (await owner.get(f"/admin/{kind}/new")).text
        lines = "fr  /fr/le-phare\r\n\r\n pt-BR https://faro.example/o-farol \r\n"
        form = filled(page) | {"title": "Turm", "content_html": "<p>T</p>", "translations": lines}
        answer = await owner.post(f"/admin/{kind}/new", form | {"action": "save"})
        address = answer.headers["location"]
        await carry_out(owner, address, filled(await owner.follow(answer)))
        path = "/posts/turm" if kind == "posts" else "/turm"
        live = (await tenant.guest.get(path)).text
        assert 'hreflang="fr"' in live
        assert 'href="https://faro.example/o-farol"' in live
        # A change goes live with the text's others, and an untouched form changes nothing.
        form = filled((await owner.get(address)).text)
        assert form["translations"].splitlines() == [
            "fr /fr/le-phare",
            "pt-BR https://faro.example/o-farol",
        ]
        await owner.follow(await owner.post(address, form | {"action": "review"}))
        wrong = await owner.post(address, form | {"translations": "fr", "action": "save"})
        assert wrong.status_code == 422
        assert "Each url must be" in wrong.text
        await owner.follow(await owner.post(address, form | {"translations": "", "action": "save"}))
        assert 'href="https://faro.example/o-farol"' in (await tenant.guest.get(path)).text
        await carry_out(owner, address, filled((await owner.get(address)).text))
        assert 'href="https://faro.example/o-farol"' not in (await tenant.guest.get(path)).text
