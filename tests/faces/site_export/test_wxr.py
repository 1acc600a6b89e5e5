"""WXR as WordPress writes and reads it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import pytest
from tests.faces.site_export.filled import Filled, export
from tests.features.media.pictures import picture
from tests.features.media.test_replace import replaced
from tests.world import TenantWorld

WP = "{http://wordpress.org/export/1.2/}"
BODY = "{http://purl.org/rss/1.0/modules/content/}encoded"
ADDRESS = f"{WP}attachment_url"
EXCERPT = "{http://wordpress.org/export/1.2/excerpt/}encoded"

Item = ElementTree.Element


class Wxr:
    def __init__(self, path: Path) -> None:
        self.text = path.read_text()
        self.channel = ElementTree.parse(path).getroot().find("channel")
        assert self.channel is not None

    def items(self, kind: str) -> Iterator[Item]:
        assert self.channel is not None
        for item in self.channel.findall("item"):
            if item.findtext(f"{WP}post_type") == kind:
                yield item

    def post(self, title: str) -> Item:
        (found,) = (each for each in self.items("post") if each.findtext("title") == title)
        return found


def meta(item: Item) -> dict[str, str]:
    return {
        each.findtext(f"{WP}meta_key", ""): each.findtext(f"{WP}meta_value", "")
        for each in item.findall(f"{WP}postmeta")
    }


@pytest.fixture
async def wxr(filled: Filled, tmp_path: Path) -> Wxr:
    exported = await filled.export("wxr", tmp_path / "site.xml")
    assert (exported.posts, exported.pages, exported.media) == (6, 1, 2)
    assert exported.bytes == (tmp_path / "site.xml").stat().st_size
    return Wxr(tmp_path / "site.xml")


async def test_says_which_version_and_whose_it_is(wxr: Wxr, filled: Filled) -> None:
    assert wxr.channel is not None
    assert wxr.channel.findtext(f"{WP}wxr_version") == "1.2"
    assert wxr.channel.findtext(f"{WP}base_site_url") == f"http://{filled.tenant.host}"
    assert wxr.channel.findtext("title") == "demo"


async def test_every_item_has_a_number_of_its_own(wxr: Wxr) -> None:
    assert wxr.channel is not None
    numbers = [each.findtext(f"{WP}post_id") for each in wxr.channel.findall("item")]
    # Two media, one picture from elsewhere that two posts share, six posts and a page.
    assert len(numbers) == len(set(numbers)) == 10
    assert all(number and number.isdigit() for number in numbers)


async def test_a_post_has_its_fields(wxr: Wxr, filled: Filled) -> None:
    # To WordPress a title is HTML.
    post = wxr.post('Tea & "toast" &lt;for two&gt;')
    (picture,) = (
        each
        for each in wxr.items("attachment")
        if each.findtext(f"{WP}attachment_url") == filled.picture["url"]
    )
    record = filled.posts["tea-toast-for-two"]
    assert post.findtext("link") == f"http://{filled.tenant.host}/posts/tea-toast-for-two"
    assert post.findtext("pubDate") == "Tue, 04 Mar 2025 05:06:07 +0000"
    assert post.findtext(f"{WP}post_date") == "2025-03-04 05:06:07"
    assert post.findtext(f"{WP}post_date_gmt") == "2025-03-04 05:06:07"
    assert post.findtext(f"{WP}post_name") == "tea-toast-for-two"
    assert post.findtext(f"{WP}status") == "publish"
    assert post.findtext(EXCERPT) == "Short & &lt;sweet&gt;"
    assert meta(post) == {
        "_thumbnail_id": picture.findtext(f"{WP}post_id"),
        "_yoast_wpseo_title": "Tea for search engines",
        "_yoast_wpseo_metadesc": "All about tea & toast",
        "_masthead_id": record["id"],
        "_masthead_visibility": "public",
        "_masthead_published_at": "2025-03-04T05:06:07.089Z",
    }
    assert [
        (each.get("domain"), each.get("nicename"), each.text) for each in post.iter("category")
    ] == [
        ("post_tag", "food-drink", "Food & drink"),
        ("post_tag", "c-2", "C++"),
        ("post_tag", "c", "C"),
        ("post_tag", "reisen-wandern", "Reisen, Wandern"),
    ]


async def test_a_body_is_one_block_that_wordpress_leaves_alone(wxr: Wxr, filled: Filled) -> None:
    record = filled.posts["tea-toast-for-two"]
    there = f'src="http://{filled.tenant.host}/media/'
    expected = record["content_html"].replace('src="/media/', there)
    body = wxr.post('Tea & "toast" &lt;for two&gt;').findtext(BODY)
    assert body == f"<!-- wp:html -->\n{expected}\n<!-- /wp:html -->"
    assert wxr.post("Empty").findtext(BODY) == ""


async def test_an_attachment_has_its_address_and_its_words(wxr: Wxr, filled: Filled) -> None:
    shown = {each.findtext(f"{WP}attachment_url"): each for each in wxr.items("attachment")}
    assert set(shown) == {
        filled.picture["url"],
        filled.notes["url"],
        "https://pictures.example/a%20b.jpg",
    }
    picture = shown[filled.picture["url"]]
    assert picture.findtext(f"{WP}status") == "inherit"
    assert meta(picture)["_wp_attachment_image_alt"] == "The harbour"
    assert meta(picture)["_wp_attached_file"] == f"2026/11/{filled.picture['file']}"


async def test_posts_that_share_a_picture_share_the_attachment(wxr: Wxr) -> None:
    of_one, of_other = (meta(wxr.post(title)) for title in ("Über uns", "For members"))
    assert of_one["_thumbnail_id"] == of_other["_thumbnail_id"]


async def test_who_may_read_a_post_is_told(wxr: Wxr) -> None:
    assert meta(wxr.post("Über uns"))["_masthead_visibility"] == "paid"
    assert meta(wxr.post("For members"))["_masthead_visibility"] == "members"


async def test_a_name_in_another_script_is_escaped_as_wordpress_does(wxr: Wxr) -> None:
    assert wxr.post("Über uns").findtext(f"{WP}post_name") == "%c3%bcber-uns"


async def test_drafts_have_no_date_and_later_posts_are_future(wxr: Wxr) -> None:
    draft, later = wxr.post("A draft"), wxr.post("Later")
    assert draft.findtext(f"{WP}status") == "draft"
    assert draft.findtext(f"{WP}post_date_gmt") == "0000-00-00 00:00:00"
    assert draft.findtext(f"{WP}post_date", "").startswith("2026-11-14 ")
    assert draft.findtext("pubDate") == ""
    assert later.findtext(f"{WP}status") == "future"


async def test_pages_are_pages(wxr: Wxr) -> None:
    (page,) = wxr.items("page")
    assert page.findtext("title") == "About us"
    assert page.findtext(f"{WP}post_name") == "about-us"


async def test_no_address_of_a_member_is_in_it(wxr: Wxr) -> None:
    assert "@example.com" not in wxr.text


async def test_what_xml_cannot_hold_is_left_out(tenant: TenantWorld, tmp_path: Path) -> None:
    await tenant.post(title="A\x0bB\ufffe ]]> AT&T", content_html="<p>\x01\x1f]]></p>]]>")
    await export(tenant, "wxr", tmp_path / "site.xml")
    wxr = Wxr(tmp_path / "site.xml")
    post = wxr.post("AB ]]&gt; AT&amp;T")
    assert post.findtext(BODY) == "<!-- wp:html -->\n<p>]]&gt;</p>]]&gt;\n<!-- /wp:html -->"


async def test_nothing_of_another_tenant_is_in_it(
    filled: Filled, other_tenant: TenantWorld, tmp_path: Path
) -> None:
    exported = await export(other_tenant, "wxr", tmp_path / "site.xml")
    assert (exported.posts, exported.pages, exported.media) == (0, 0, 0)
    assert list(Wxr(tmp_path / "site.xml").items("post")) == []


async def test_the_address_of_a_replaced_file_is_that_of_the_new_one(
    filled: Filled, tmp_path: Path
) -> None:
    old = filled.picture
    new = await replaced(filled.tenant, old, picture("PNG", (32, 32)), "new.png")
    await filled.export("wxr", tmp_path / "site.xml")
    text = (tmp_path / "site.xml").read_text()
    assert old["file"] not in text
    # Twice in the text, as the featured picture, and as an attachment.
    assert text.count(new["file"]) >= 4


async def test_another_platform_fetches_what_is_not_everyones(
    filled: Filled, tmp_path: Path
) -> None:
    tenant, item = filled.tenant, filled.picture
    await tenant.update("media", item["id"], {"private": True})
    await filled.export("wxr", tmp_path / "site.xml")
    wxr = Wxr(tmp_path / "site.xml")
    (address,) = {
        url for each in wxr.items("attachment") if item["id"] in (url := each.findtext(ADDRESS, ""))
    }
    # By the same address in the texts, which WordPress replaces by its own.
    assert f'src="{address}"' in wxr.text
    assert (await tenant.guest.get(address)).status_code == 200
    assert (await tenant.guest.get(address.partition("?")[0])).status_code == 404
    tenant.world.clock.advance(days=31)
    assert (await tenant.guest.get(address)).status_code == 404
