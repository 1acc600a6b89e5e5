"""The addresses of a WordPress site apart from the permalinks of its posts: by number, and those of
feeds, lists and attachments. The export does not say which words a site has chosen for them, so
they are the usual ones."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Final
from urllib.parse import quote, unquote

from masthead.faces.importers.convert.plain_texts import title_text
from masthead.faces.importers.old_paths import base_path, old_path, own_hosts, own_path
from masthead.faces.importers.platforms.wordpress.attachments import Attachments, as_number
from masthead.faces.importers.platforms.wordpress.authors import nicename
from masthead.faces.importers.platforms.wordpress.items import Item, Term
from masthead.faces.importers.source import Kind, OldAddress

MAX_TAG: Final = 100
"""Characters of a tag here."""
USUAL: Final = frozenset({"", "category", "post_tag", "tag"})
"""Taxonomies of categories and tags, in every version of the format."""
_FORMATS: Final = "post_format"
_FOLDERS: Final = {"category": "category", "post_tag": "tag", _FORMATS: "type"}
_INTERNAL: Final = frozenset(
    {
        *("nav_menu", "link_category", _FORMATS, "wp_theme", "wp_template_part_area"),
        *("wp_pattern_category", "product_type", "product_visibility", "product_cat"),
        *("product_tag", "product_brand", "product_shipping_class"),
        # Of plugins for languages, several authors and search engines.
        *("language", "term_language", "post_translations", "term_translations"),
        *("translation_priority", "author", "yst_prominent_words"),
    }
)
"""Taxonomies that sort no posts for readers."""
_PRODUCT_ATTRIBUTES: Final = "pa_"
_MAX_DEPTH: Final = 10
_MONTH: Final = re.compile(r"([12][0-9]{3})-(0[1-9]|1[0-2])-")


def are_tags(taxonomy: str) -> bool:
    """Whether its terms become tags: categories, tags, and what a site has made for its posts."""
    return taxonomy not in _INTERNAL and not taxonomy.startswith(_PRODUCT_ATTRIBUTES)


def has_list(taxonomy: str) -> bool:
    """Whether the old site has a list of posts for each of its terms."""
    return taxonomy == _FORMATS or (are_tags(taxonomy) and taxonomy not in ("", "tag"))


def tag_name(text: str) -> str:
    return title_text(text, 2 * MAX_TAG)


def other_paths(item: Item, kind: Kind, site_url: str) -> tuple[str, ...]:
    """The address by number, which WordPress always understands, and the one in the guid."""
    number, base = as_number(item.get("post_id")), base_path(site_url)
    if number is None or kind == "product":
        return ()
    found = [f"{base}/?p={number}"]
    found += [f"{base}/?page_id={number}"] if kind == "page" else []
    guid = item.get("guid")
    if own_path(guid, own_hosts(site_url)) or "/?" in guid:
        found.append(old_path(guid))
    permalink = old_path(item.get("link"))
    return tuple(each for each in dict.fromkeys(found) if each and each != permalink)


def feed_addresses(base: str) -> Iterator[OldAddress]:
    for path in ("/feed/", "/feed/rss2/", "/feed/rss/", "/feed/rdf/", "/?feed=rss2", "/?feed=rss"):
        yield OldAddress(f"{base}{path}", "feed")
    # Comments have no feed here.
    for path in ("/comments/feed/", "/comments/feed/rss2/", "/?feed=comments-rss2"):
        yield OldAddress(f"{base}{path}", "feed")
    for path in ("/feed/atom/", "/comments/feed/atom/", "/?feed=atom"):
        yield OldAddress(f"{base}{path}", "atom")


def month_of(item: Item) -> str:
    """In which a post was published, as `2024/05`, by the clock of the old site; '' if it was
    not."""
    is_post = item.get("post_type").lower() in ("", "post")
    if not is_post or item.get("status").lower() not in ("publish", "published"):
        return ""
    found = _MONTH.match(item.get("post_date"))
    return f"{found[1]}/{found[2]}" if found else ""


def date_addresses(base: str, months: Collection[str]) -> Iterator[OldAddress]:
    """Addresses of the lists of months and years, and of later pages of the list of posts."""
    yield OldAddress(f"{base}/page/", "archive")
    for year in sorted({each[:4] for each in months}):
        before = f"{int(year) + 1:04}-01-01"
        yield OldAddress(f"{base}/{year}/", "archive", before)
        yield OldAddress(f"{base}/?m={year}", "archive", before)
    for each in sorted(months):
        month = int(each[5:])
        before = f"{int(each[:4]) + month // 12:04}-{month % 12 + 1:02}-01"
        yield OldAddress(f"{base}/{each}/", "archive", before)
        yield OldAddress(f"{base}/?m={each.replace('/', '')}", "archive", before)


def term_addresses(base: str, terms: Mapping[tuple[str, str], Term]) -> Iterator[OldAddress]:
    for term in terms.values():
        name = tag_name(term.name)[:MAX_TAG].rstrip()
        if not name:
            continue
        for path in _paths_of(term, terms):
            yield OldAddress(f"{base}{path}/", "tag", name)
            yield OldAddress(f"{base}{path}/feed/", "tag feed", name)
        if term.domain == "post_tag":
            yield OldAddress(f"{base}/?tag={_written(term.slug)}", "tag", name)
        elif term.domain == "category" and as_number(term.term_id) is not None:
            yield OldAddress(f"{base}/?cat={term.term_id}", "tag", name)


def author_addresses(base: str, authors: Mapping[str, str]) -> Iterator[OldAddress]:
    """`authors` are their numbers by login."""
    for login, number in authors.items():
        if name := nicename(login):
            yield OldAddress(f"{base}/author/{name}/", "author", login)
            yield OldAddress(f"{base}/author/{name}/feed/", "author feed", login)
        if as_number(number) is not None:
            yield OldAddress(f"{base}/?author={number}", "author", login)


def attachment_addresses(base: str, attachments: Attachments) -> Iterator[OldAddress]:
    """Addresses of the page that WordPress makes for each file."""
    for number, attachment in attachments.all():
        above = str(attachment.parent or "")
        yield OldAddress(f"{base}/?attachment_id={number}", "file", attachment.url, above)
        if attachment.page:
            yield OldAddress(attachment.page, "file", attachment.url, above)


def _paths_of(term: Term, terms: Mapping[tuple[str, str], Term]) -> Iterator[str]:
    """Alone, and below the terms above it: WordPress answers at both."""
    slug = term.slug.removeprefix("post-format-") if term.domain == _FORMATS else term.slug
    parts, parent = [_written(slug)], term.parent
    while parent and len(parts) < _MAX_DEPTH:
        parts.insert(0, _written(parent))
        above = terms.get((term.domain, parent))
        parent = above.parent if above else ""
    folder = _FOLDERS.get(term.domain, term.domain)
    # The name of a taxonomy often has an underscore where its address has a hyphen.
    for each in dict.fromkeys((folder, folder.replace("_", "-"))):
        yield f"/{_written(each)}/{parts[-1]}"
        if len(parts) > 1:
            yield f"/{_written(each)}/{'/'.join(parts)}"


def _written(slug: str) -> str:
    return quote(unquote(slug), safe="")
