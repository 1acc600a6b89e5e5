"""A site with records in every collection and rows in every table that moves, each field filled by
its declaration: a new collection or field is in it without a line here."""

from __future__ import annotations

import itertools
import re
from typing import Any

import sqlalchemy as sa
from tests.world import World

from masthead.base import ids
from masthead.base.caller import system
from masthead.base.ids import TenantId
from masthead.engine.records.collection import Collection, Record, file_key
from masthead.engine.records.fields.base import Field
from masthead.engine.records.fields.documents import Json, TextList
from masthead.engine.records.fields.file import File
from masthead.engine.records.fields.languages import LanguageTags
from masthead.engine.records.fields.relation import Relation
from masthead.engine.records.fields.relation_list import RelationList
from masthead.engine.records.fields.secrets import Hash, Secret
from masthead.engine.records.fields.text import Email, SiteAddress, Slug, Text, Url
from masthead.engine.records.fields.translations import Translations
from masthead.engine.records.fields.values import Date, Flag, Number, Select
from masthead.engine.records.read.decoding import engine_decoder
from masthead.faces.importers.collection import stored_keys
from masthead.faces.site_archive.checking import check_record
from masthead.faces.site_archive.stored_files import has_files, keys_of
from masthead.faces.site_archive.tables import MOVED, moved_tables
from masthead.features.site.appearance import Links
from masthead.features.site.collection import site_settings
from masthead.features.site.custom_domain import CustomDomain
from masthead.storage import dialects
from masthead.storage.database import EVERY_TENANT

EACH = 3
SINGLE = ("tenants", "site_settings")
HASH = (
    "$argon2id$v=19$m=32768,t=2,p=1$O9iHIQ2FJZkyHVX3RBH41g$"
    "c8lCN7Pisv3RaUUQS4y1jwkrlPlE61z8W7yGZj04tC0"
)
CHOSEN: dict[tuple[str, str], Any] = {
    ("tenants", "status"): "active",
    ("tenants", "suspended_at"): "",
    ("tenants", "suspension_reason"): "",
    ("site_settings", "accent_color"): "#aa3311",
    ("site_settings", "language"): "en",
    ("site_settings", "time_zone"): "Europe/Berlin",
    ("site_settings", "theme"): "plain",
    ("site_settings", "announcement"): {"text": "News", "url": "/news", "until": None},
    ("site_settings", "social"): ["https://social.example.com/@site"],
    ("site_settings", "code_allowed"): True,
    ("site_settings", "cors_origins"): ["https://a.example"],
    ("site_settings", "ai_base_url"): "https://api.openai.com/v1",
    ("tiers", "payment_url"): "https://pay.example/x",
    ("site_settings", "custom_domain"): "",
    ("site_settings", "domain_check_at"): "",
    ("site_settings", "domain_missing_since"): "",
    ("site_settings", "deleted_at"): "",
    ("webhook_subscriptions", "filter"): 'event = "post.published"',
    ("webhook_subscriptions", "headers"): '{"X-Key":"secret webhook_subscriptions 1"}',
    ("newsletters", "accent_color"): "#aa3311",
    ("newsletters", "digest_at"): "2099-01-01 00:00:00.000Z",
    ("mailings", "status"): "sent",
    ("import_runs", "state"): "done",
    ("import_runs", "object_key"): "",
    ("member_imports", "status"): "done",
    ("member_imports", "object_key"): "",
    ("gdpr_requests", "status"): "completed",
    ("media", "picture_sizes"): "none",
    ("media", "mime_type"): "image/png",
    ("media", "mime_family"): "image",
    ("posts", "clean_rules"): 1,
    ("pages", "clean_rules"): 1,
    ("tiers", "currency"): "eur",
    ("products", "currency"): "eur",
    ("orders", "currency"): "eur",
    ("gift_cards", "currency"): "eur",
    ("sign_in_providers", "issuer"): "https://id.example.com/realms/news",
    ("sign_in_providers", "roles"): ["newsroom = editor"],
    ("sign_in_providers", "domains"): ["example.com"],
}
"""Values that a field's type does not give, or that an import changes on purpose (see the other
tests)."""


class Filling:
    def __init__(self, world: World, tenant_id: TenantId, slug: str) -> None:
        self._world = world
        self._tenant_id = tenant_id
        self._slug = slug
        self._numbers = itertools.count(1)
        self.ids: dict[str, list[str]] = {}

    async def fill(self) -> None:
        for moved in moved_tables(self._world.parts.records.registry):
            collection = moved.collection
            if collection is not None:
                number = 1 if collection.name in SINGLE else _most(collection)
                self.ids[collection.name] = [ids.new_id() for _ in range(number)]
        self.ids["tenants"] = [self._tenant_id]
        for moved in moved_tables(self._world.parts.records.registry):
            if moved.collection is None:
                await self._fill_table(moved.table)
            else:
                await self._fill_collection(moved.collection)

    async def _fill_collection(self, collection: Collection) -> None:
        records = self._world.parts.records
        made = [
            self._record(collection, each, position)
            for position, each in enumerate(self.ids[collection.name])
        ]
        if collection.rendering is not None:
            rendering = collection.rendering
            for each in made:
                [clean] = await rendering.make_anyway([each[rendering.of]])
                each |= rendering.stored(each[rendering.of], clean)
        for each in made:
            check_record(collection, each)
        own = tuple(each.name for each in collection.relations if each.to == collection.name)
        async with records.unit(system(self._tenant_id), emit_events=False) as unit:
            await unit.store_copies(collection, made, unlinked=own)
            if own:
                await unit.link_copies(collection, made, own)
        for each in made if has_files(collection) else ():
            for key in keys_of(collection, each):
                content = f"{key} {next(self._numbers)}".encode() * 500
                await self._world.parts.objects.put(key, content)

    def _record(self, collection: Collection, record_id: str, position: int) -> Record:
        number = next(self._numbers)
        moment = f"2026-01-01 00:{number // 60 % 60:02}:{number % 60:02}.{number:03}Z"[:24]
        values = {
            each.name: CHOSEN[key]
            if (key := (collection.name, each.name)) in CHOSEN
            else self._value(collection, each, position)
            for each in collection.fields
        }
        record = {
            "id": record_id,
            "tenant_id": self._tenant_id,
            **values,
            "created": moment,
            "updated": moment,
            "version": number,
        }
        if collection.name in SINGLE:
            record["slug"] = self._slug
        if collection.name == "import_runs":
            record["report"] = {
                "redirects_path": file_key(self._tenant_id, collection, record_id, "redirects.csv")
            }
            assert stored_keys(record)
        return record

    def _value(self, collection: Collection, field: Field, position: int) -> Any:
        number = next(self._numbers)
        if isinstance(field, Relation):
            targets = self.ids[field.to]
            # The first record of a collection may name its last one, which comes later.
            return targets[-1] if field.to == collection.name else targets[position % len(targets)]
        if isinstance(field, LanguageTags):
            return ["de", "pt-BR"]
        if isinstance(field, TextList):
            if isinstance(field, RelationList) or field.max_length == ids.LENGTH:
                return list(self.ids["_superusers"][:2])
            words = ["recommendations", f"word {number}"]
            return list(field.values[:2]) or [each[: field.max_length] for each in words]
        if isinstance(field, Translations):
            return [{"language": "de", "url": self._file_address()}]
        if isinstance(field, Links):
            return [{"label": "Here", "url": self._file_address()}]
        if isinstance(field, Json):
            return self._document(number)
        if isinstance(field, Select):
            return field.values[position % len(field.values)]
        if isinstance(field, Flag):
            return bool(number % 2)
        if isinstance(field, Number):
            most = field.max if field.max is not None else 1000
            return max(min(number, int(most)), int(field.min or 0))
        if isinstance(field, Date):
            return f"2026-02-01 00:{number // 60 % 60:02}:{number % 60:02}.000Z"
        return self._text(collection, field, number)

    def _text(self, collection: Collection, field: Field, number: int) -> str:
        assert isinstance(field, Text), field
        if isinstance(field, Email):
            return f"person{number}@example.com"
        if isinstance(field, CustomDomain):
            return f"site{number}.example.org"
        if isinstance(field, Hash):
            return HASH if field.name == "password_hash" else f"{number:064}"[: field.max]
        if isinstance(field, Secret):
            return f"secret {collection.name} {number}"
        if isinstance(field, File):
            return f"picture_{number}.png"
        if isinstance(field, SiteAddress):
            return self._file_address()
        if isinstance(field, Url):
            return (
                "https://hooks.example.com/in"
                if "Receiver" in type(field).__name__
                else (self._file_address())
            )
        if isinstance(field, Slug):
            return f"slug-{number}"
        if field.max == ids.LENGTH:
            return self.ids["_superusers"][number % EACH]
        if field.max > 4_000:
            return self._html(number)
        candidates = (
            f"Word {number}",
            f"word-{number}",
            f"{number}",
            f"/word-{number}",
            "eur",
            "en",
            ";",
        )
        for each in candidates:
            is_long_enough = field.min <= len(each) <= field.max
            if is_long_enough and (not field.pattern or field.pattern.fullmatch(each)):
                return each
        raise AssertionError(f"{collection.name}.{field.name} needs a value in CHOSEN")

    def _file_address(self) -> str:
        return f"/media/{self.ids['media'][0]}/picture.png"

    def _html(self, number: int) -> str:
        item, host = self.ids["media"][1], f"{self._slug}.localhost"
        return (
            f'<p>Text {number}, recommendations</p><img src="/media/{item}/a.png">'
            f'<img src="http://{host}/api/files/media/{item}/a.png?thumb=100x100">'
            f'<a href="http://{host}/posts/slug-1">here</a>'
            f'<a href="https://elsewhere.example/media/{item}/a.png">there</a>'
            "<script>alert(1)</script>"
        )

    def _document(self, number: int) -> Any:
        return {
            "product_id": self.ids["products"][0],
            "text": f"recommendations {number}",
            "word": "recommendations",
            "content": [{"attrs": {"src": self._file_address(), "width": 2.5}}, None, True],
        }

    async def _fill_table(self, table: sa.Table) -> None:
        database = self._world.parts.database
        is_single = [each.name for each in table.primary_key] == ["tenant_id"]
        rows = [self._row(table, each) for each in range(1 if is_single else EACH)]
        statement = database.compile(sa.insert(table))
        async with database.transaction(EVERY_TENANT) as tx:
            await tx.execute_many(statement, [statement.bind(each) for each in rows])

    def _row(self, table: sa.Table, number: int) -> Record:
        return {column.name: self._cell(table, column, number) for column in table.columns}

    def _cell(self, table: sa.Table, column: sa.Column[Any], number: int) -> Any:
        if column.name == "tenant_id":
            return self._tenant_id
        if column.name in MOVED[table.name]:
            named = {"mailing_id": "mailings", "member_id": "blog_members"}.get(
                column.name, "posts"
            )
            return self.ids[named][number]
        if isinstance(column.type, dialects.Integer):
            return number + 7
        if isinstance(column.type, dialects.Flag):
            return bool(number % 2)
        if isinstance(column.type, dialects.Json):
            return '{"n": 1}'
        return f"{column.name} {number}"


def _most(collection: Collection) -> int:
    """Some collections have one record for each choice of a field."""
    unique = {name for each in collection.indexes if each.unique for name in each.fields}
    choices = [
        len(each.values)
        for each in collection.fields
        if isinstance(each, Select) and each.name in unique
    ]
    return min([EACH, *choices])


async def new_full_site(world: World, slug: str = "full") -> TenantId:
    tenant_id = TenantId(ids.new_id())
    await Filling(world, tenant_id, slug).fill()
    return tenant_id


Site = dict[str, list[Record]]


async def read_all(world: World, tenant_id: str) -> Site:
    """Every moved row of the site as it is, secrets revealed and files included."""
    found: Site = {}
    records, database = world.parts.records, world.parts.database
    for moved in moved_tables(records.registry):
        collection, table = moved.collection, moved.table
        decoder = engine_decoder(collection) if collection is not None else None
        names = decoder.names if decoder else [str(each.name) for each in table.columns]
        statement = database.compile(
            sa.select(*(table.c[name] for name in names)).where(
                table.c.tenant_id == sa.bindparam("tenant")
            )
        )
        rows = await database.fetch(EVERY_TENANT, statement, (tenant_id,))
        if collection is None:
            found[moved.name] = [
                {name: _plain(value) for name, value in zip(names, row, strict=True)}
                for row in rows
            ]
            continue
        assert decoder is not None
        found[moved.name] = [decoder.record(row) for row in rows]
        for each in found[moved.name]:
            for name in collection.secrets:
                each[name] = records.reveal(collection, each, name)
            if has_files(collection):
                each["files"] = [await _content(world, key) for key in keys_of(collection, each)]
    return found


def _plain(value: Any) -> Any:
    # PostgreSQL writes JSON with blanks of its own.
    return value.replace(" ", "") if isinstance(value, str) and value[:1] == "{" else value


async def _content(world: World, key: str) -> bytes:
    stored = await world.parts.objects.get(key)
    return b"".join([chunk async for chunk in stored.chunks])


def new_names(old: Site, new: Site) -> dict[str, str]:
    """The new id of each old one. Each record has its own `created`, which does not change."""
    pairs = {}
    for name, records in old.items():
        if records and "id" in records[0]:
            by_time = {each["created"]: each["id"] for each in new[name]}
            pairs |= {each["id"]: by_time[each["created"]] for each in records}
    return pairs


_OWN_ID = re.compile(r"(?<!elsewhere\.example/media/)[a-z0-9]{15}")


def renamed(value: Any, names: dict[str, str], *texts: tuple[str, str]) -> Any:
    """The value with new ids, wherever an old one stands, and other replacements in texts."""
    if isinstance(value, str):
        for was, now in texts:
            value = value.replace(was, now)
        return _OWN_ID.sub(lambda match: names.get(match[0], match[0]), value)
    if isinstance(value, list):
        return [renamed(each, names, *texts) for each in value]
    if isinstance(value, dict):
        return {key: renamed(each, names, *texts) for key, each in value.items()}
    return value


def main_settings(site: Site) -> Record:
    return site[site_settings.name][0]
