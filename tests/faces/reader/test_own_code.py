"""Code of a site's owner: on its public pages for readers while the operator allows it, and nowhere
else."""

from __future__ import annotations

import re
from base64 import b64encode
from hashlib import sha256

import pytest
from markupsafe import Markup
from tests.world import TenantWorld

from masthead.faces.reader.own_code import script_hashes
from masthead.faces.reader.views import Code

HTML = {"accept": "text/html"}
INLINE = "window.counted = 1 < 2 && '</b>';"
HEAD = f'<meta name="owned-head"><script>{INLINE}</script>'
FOOT = '<script async src="https://stats.example.com/x.js"></script><i id="owned-foot"></i>'
MARKS = ("owned-head", "owned-foot")
OPEN = ("/", "/posts/fog", "/about", "/archive", "/tags/sea", "/authors/ann")


def hash_of(script: str) -> str:
    return f"'sha256-{b64encode(sha256(script.encode()).digest()).decode()}'"


async def coded(tenant: TenantWorld) -> None:
    await tenant.owner(name="Ann", slug="ann")
    await tenant.published(title="Fog", tags=["sea"], visibility="public")
    await tenant.create("pages", {"title": "About", "status": "published"})
    await tenant.settings(code_allowed=True)
    await tenant.settings(head_html=HEAD, foot_html=FOOT)


async def test_public_pages_have_it_with_a_policy_that_names_its_scripts(
    tenant: TenantWorld,
) -> None:
    await coded(tenant)
    member = await tenant.member()
    for path in OPEN[:5]:
        for api in (tenant.guest, member.api):
            for _ in range(2):
                # Drawn, then from the cache.
                answer = await api.get(path, headers=HTML)
                head, _, body = answer.text.partition("</head>")
                assert HEAD in head, path
                assert FOOT in body
                policy = answer.headers["content-security-policy"]
                scripts = re.findall(r"script-src ([^;]*);", policy)[0].split()
                assets = f"http://{tenant.host}/assets/"
                assert scripts == [assets, "https:", hash_of(INLINE)]
                assert "frame-ancestors 'none'" in policy
                assert "base-uri 'none'" in policy


CLOSED = (
    *("/member/sign-in", "/member/sign-up", "/member/forgot", "/member/account", "/member/tiers"),
    *("/member/gift", "/member/link?token=x", "/search?q=fog", "/nothing", "/draft/x"),
    *("/admin", "/admin/sign-in", "/admin/settings", "/api/newsletter/unsubscribe"),
)


async def test_no_other_page_has_it(tenant: TenantWorld) -> None:
    await coded(tenant)
    owner, member = await tenant.owner(), await tenant.member()
    for api in (tenant.guest, member.api, owner.api):
        for path in CLOSED:
            answer = await api.get(path, headers=HTML)
            assert not any(mark in answer.text for mark in MARKS), path
            policy = answer.headers.get("content-security-policy", "script-src 'none'")
            assert "sha256" not in policy
            assert "https:" not in (re.findall(r"script-src ([^;]*)", policy) or [""])[0]
    for path in ("/feed.xml", "/feed.json", "/posts/fog.md", "/llms.txt", "/sitemap.xml"):
        text = (await tenant.guest.get(path)).text
        assert not any(mark in text for mark in MARKS)


async def test_staff_get_their_pages_without_it(tenant: TenantWorld) -> None:
    await coded(tenant)
    for role in ("owner", "editor", "author", "contributor"):
        staff = await tenant.owner(role=role)
        for path in (*OPEN, "/?theme=letter"):
            answer = await staff.api.get(path, headers=HTML)
            assert not any(mark in answer.text for mark in MARKS), (role, path)
            assert "sha256" not in answer.headers["content-security-policy"]


async def test_it_is_not_shown_once_it_is_not_allowed(tenant: TenantWorld) -> None:
    await coded(tenant)
    before = (await tenant.guest.get("/")).headers["content-security-policy"]
    await tenant.settings(code_allowed=False)
    for path in OPEN[:5]:
        answer = await tenant.guest.get(path, headers=HTML)
        assert not any(mark in answer.text for mark in MARKS)
        assert "https://" not in answer.headers["content-security-policy"]
    assert before != (await tenant.guest.get("/")).headers["content-security-policy"]


async def test_a_text_smuggles_no_script_past_the_policy(tenant: TenantWorld) -> None:
    """Even if the sanitizer let one pass, the policy names only the owner's own."""
    await coded(tenant)
    policy = (await tenant.guest.get("/posts/fog")).headers["content-security-policy"]
    scripts = re.findall(r"script-src ([^;]*);", policy)[0]
    assert "'unsafe-inline'" not in scripts
    assert "'unsafe-eval'" not in scripts
    assert hash_of("alert(1)") not in scripts


@pytest.mark.parametrize(
    ("html", "scripts"),
    [
        ("<script>a()</script>", ["a()"]),
        ("<SCRIPT type=module>\nb\n</SCRIPT >", ["\nb\n"]),
        ("<script src=/x></script><script>c</script>", ["c"]),
        ("<!-- <script>no</script> --><script>'<b>'</script>", ["'<b>'"]),
        ("<script>one</script><script>one</script>", ["one"]),
        ("<script>never closed", []),
        ("<p onclick='x()'>text</p>", []),
        ("", None),
    ],
)
def test_inline_scripts_are_named_by_their_hash(html: str, scripts: list[str] | None) -> None:
    found = script_hashes(Code(Markup(html)))
    assert found == (None if scripts is None else tuple(map(hash_of, scripts)))


async def test_line_ends_are_those_that_a_browser_compares(tenant: TenantWorld) -> None:
    await coded(tenant)
    await tenant.settings(head_html="<script>one\r\ntwo\rthree</script>")
    answer = await tenant.guest.get("/", headers=HTML)
    assert hash_of("one\ntwo\nthree") in answer.headers["content-security-policy"]
    assert "one\ntwo\nthree" in answer.text
