"""Redirects from the old site's addresses that are of no post or page: its feeds, its lists of tags
and authors, and its files. Written after all the rest, because they lead to it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from masthead.base.caller import system
from masthead.faces.importers.convert.image_urls import ImageRef, original_of, picture_key
from masthead.faces.importers.old_paths import own_hosts, own_path
from masthead.faces.importers.source import Kind, OldAddress, post_key
from masthead.faces.importers.write.destination import Destination
from masthead.faces.importers.write.destinations import (
    ARCHIVE,
    ATOM,
    BEFORE,
    FEED,
    author_path,
    has_tag,
    new_path,
    tag_path,
)
from masthead.faces.importers.write.drafts import stored_tag
from masthead.faces.importers.write.dry_unit import AnyUnit
from masthead.faces.importers.write.previous_imports import Item
from masthead.faces.importers.write.redirects import NewRedirects, Redirect, RedirectKind
from masthead.features.media.path import media_path
from masthead.identity.tenants import superusers

ADDRESSES_PER_BATCH: Final = 200
_KINDS: Final[Mapping[str, RedirectKind]] = {
    "feed": "feeds",
    "atom": "feeds",
    "archive": "archives",
    "tag": "tags",
    "tag feed": "tags",
    "author": "authors",
    "author feed": "authors",
    "file": "pictures",
}
_PARENTS: Final[Mapping[Kind, str]] = {"post": "posts", "page": "pages"}


class AddressBatches:
    def __init__(self, destination: Destination, site_url: str) -> None:
        self._destination = destination
        self._previous = destination.previous
        self._site_url = site_url
        self._hosts = own_hosts(site_url)

    async def write(
        self, addresses: Sequence[OldAddress], account_ids: Mapping[str, str]
    ) -> list[Redirect]:
        """`account_ids` are those of imported authors, by source id."""
        slugs = await self._author_slugs(addresses, account_ids)
        async with self._destination.unit() as unit:
            files = await self._files(addresses, unit)
            found = []
            for each in addresses:
                if destination := await self._leads_to(unit, each, slugs, files):
                    found.append(Redirect(_KINDS[each.leads_to], each.path, destination))
            return await self._store(unit, found, may_move=True)

    def pictures(self, refs: Iterable[ImageRef], new_urls: Mapping[str, str]) -> list[Redirect]:
        """From the addresses of copied pictures on the old site to the copies."""
        found: dict[str, str] = {}
        for ref in refs:
            new = new_urls.get(ref.urls[0])
            if new is not None and ref.original_url[:5].lower() != "data:":
                for url in (ref.original_url, *ref.urls, *ref.candidates):
                    found.setdefault(own_path(url, self._hosts), new)
        found.pop("", None)
        return [Redirect("pictures", old, new) for old, new in found.items() if old != new]

    async def write_pictures(self, wanted: Sequence[Redirect]) -> list[Redirect]:
        async with self._destination.unit() as unit:
            return await self._store(unit, wanted, may_move=False)

    async def _store(
        self, unit: AnyUnit, wanted: Sequence[Redirect], *, may_move: bool
    ) -> list[Redirect]:
        """Those that lead where they should now. Others were there before, and stay."""
        new_items: dict[str, Item] = {}
        new = NewRedirects(unit, self._destination, new_items, may_move=may_move)
        await new.load(each.source for each in wanted)
        stored = [each for each in wanted if not await new.add(each)]
        await self._destination.save(unit, new_items)
        return stored

    async def _leads_to(
        self,
        unit: AnyUnit,
        address: OldAddress,
        author_slugs: Mapping[str, str],
        files: Mapping[str, str],
    ) -> str:
        """'' where nothing here is what was there."""
        if address.leads_to == "file":
            return files.get(address.path, "")
        if address.leads_to in ("tag", "tag feed"):
            return await self._list_of_tag(unit, address)
        if address.leads_to == "archive":
            return f"{ARCHIVE}?{BEFORE}={address.name}" if address.name else ARCHIVE
        if address.leads_to == "author":
            slug = author_slugs.get(address.name)
            return author_path(slug) if slug else ARCHIVE
        # Authors have no feed here: theirs is part of the site's.
        return ATOM if address.leads_to == "atom" else FEED

    async def _list_of_tag(self, unit: AnyUnit, address: OldAddress) -> str:
        name, is_feed = stored_tag(address.name), address.leads_to == "tag feed"
        if await has_tag(self._destination.records, unit, name):
            return f"{tag_path(name)}{FEED}" if is_feed else tag_path(name)
        return FEED if is_feed else ARCHIVE

    async def _author_slugs(
        self, addresses: Sequence[OldAddress], account_ids: Mapping[str, str]
    ) -> dict[str, str]:
        """Slugs by source id, for authors who have a page here."""
        names = {each.name for each in addresses if each.leads_to == "author"}
        # Two authors with one address are one account.
        accounts = {name: account_ids[name] for name in names if name in account_ids}
        ids = list({*accounts.values()})
        found = await self._destination.records.find_related(
            system(self._destination.tenant_id), superusers, "id", ids, limit=len(ids)
        )
        slugs = {each["id"]: each["slug"] for each in found if each["name"]}
        return {name: slugs[account] for name, account in accounts.items() if slugs.get(account)}

    async def _files(self, addresses: Sequence[OldAddress], unit: AnyUnit) -> dict[str, str]:
        """New addresses by old path: the copy of a file, or the post or page that it belongs to."""
        files = [each for each in addresses if each.leads_to == "file"]
        if not files:
            return {}
        keys = {each.path: picture_key(original_of(each.name, self._site_url)) for each in files}
        copies = await self._previous.copies(set(keys.values()))
        owners = await self._owners({each.post_id for each in files} - {""}, unit)
        found = {each.path: owners.get(each.post_id, "") for each in files}
        for path, key in keys.items():
            if copy := copies.get(key):
                found[path] = media_path(copy["id"], copy["file"])
        return found

    async def _owners(self, source_ids: set[str], unit: AnyUnit) -> dict[str, str]:
        """The paths of published posts and pages, by their source ids."""
        found: dict[str, str] = {}
        for kind, collection in _PARENTS.items():
            keys = {post_key(kind, each): each for each in source_ids}
            items = await self._destination.items(keys, unit)
            ids = {item.record_id: keys[key] for key, item in items.items()}
            for record in (await self._previous.records(collection, ids, unit)).values():
                if record["status"] == "published":
                    found[ids[record["id"]]] = new_path(record["slug"], kind)
        return found
