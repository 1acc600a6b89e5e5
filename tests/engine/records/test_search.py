"""Full-text search: what is a word, what a query means, and that the index follows the records."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from itertools import product
from string import ascii_lowercase
from typing import Any

import pytest
import sqlalchemy as sa
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.tiers import representatives, rounds
from tests.world import TenantWorld, World

from masthead.base.caller import guest, system
from masthead.base.errors import BadRequest
from masthead.engine.records.engine import Records
from masthead.engine.records.read.page import ListRequest, Page
from masthead.engine.records.search import terms as search_terms
from masthead.engine.records.search.index import Indexer, IndexLimits, SearchIndex, search_queue
from masthead.service.schema import registry, tables
from masthead.storage import full_text
from masthead.storage.compaction import FullTextMerge
from masthead.storage.database import scope_of
from masthead.storage.full_text import Term
from masthead.storage.metadata import all_tables

SEVERAL_WRITERS = pytest.mark.parametrize("service", ["postgresql"], indirect=True)
"""SQLite has one at a time."""


async def found(
    tenant: TenantWorld, words: str, records: Records | None = None, **wanted: Any
) -> Page:
    records = records or tenant.world.parts.records
    request = ListRequest(search=words, **wanted)
    return await records.page(system(tenant.id), tenant.world.collection("posts"), request)


def bounded(app: World, **limits: Any) -> Records:
    """Another engine over the same database, as a second process has, that does less at a time."""
    parts = app.parts
    records = Records(
        parts.database,
        registry,
        tables,
        parts.keyring,
        now=app.clock,
        origin_of=lambda slug, _: slug,
    )
    records.search_index = SearchIndex(parts.database, registry, tables, IndexLimits(**limits))
    return records


async def titles(tenant: TenantWorld, words: str, **wanted: Any) -> list[str]:
    page = await found(tenant, words, **wanted)
    assert page.total == len(page.items)
    return [item["title"] for item in page.items]


async def index_everything(tenant: TenantWorld) -> None:
    """Nothing is left waiting for the index."""
    while (await tenant.world.parts.records.search_index.run_batch()).indexed:
        pass


class TestWords:
    @pytest.mark.parametrize(
        ("text", "words"),
        [
            ("Hello, big World!", ["hello", "big", "world"]),
            ("Crème BRÛLÉE", ["creme", "brulee"]),
            ("Cre\u0300me", ["creme"]),
            ("Łódź Øresund Straße", ["lodz", "oresund", "strasse"]),
            ("Привет мир", ["privet", "mir"]),
            ("don't l\u2019amour", ["don", "t", "l", "amour"]),
            ("中国", ["u004e2d", "u0056fd"]),
            ("灯台", ["u00706f", "u0053f0"]),
            ("Größe coração cœur zażółć", ["grosse", "coracao", "coeur", "zazolc"]),
            ("أحمد احمد إحمد آحمد", ["ahmd"] * 4),
            ("كتـــاب كِتَابٌ", ["ktab"] * 2),
            (
                "مؤمن مومن قارئ قاري على علي مدرسة مدرسه سماء سما",
                [
                    *("mwmn", "mwmn", "qary", "qary", "3ly", "3ly", "mdrsh", "mdrsh", "sma", "sma"),
                ],
            ),
            ("a😀b", ["a", "b"]),
            ("", []),
            ("!?…", []),
            ("x" * 100, ["x" * 64]),
        ],
    )
    def test_folding(self, text: str, words: list[str]) -> None:
        assert search_terms.words_of(text) == words

    @given(st.text())
    def test_any_text_gives_plain_words(self, text: str) -> None:
        assert all(word.isascii() and word.isalnum() for word in search_terms.words_of(text))

    @given(st.text(st.characters(codec="ascii")))
    def test_the_short_cut_for_ascii_changes_nothing(self, text: str) -> None:
        assert search_terms.words_of(text) == search_terms.words_of("é " + text)[1:]


class TestQueries:
    @pytest.mark.parametrize(
        ("text", "terms"),
        [
            ("big world", [Term(("big",)), Term(("world",))]),
            ('"Big World" x', [Term(("big", "world")), Term(("x",))]),
            ("wor*", [Term(("wor",), is_prefix=True)]),
            ("w*", [Term(("w",))]),
            ("well-kno*", [Term(("well", "kno"), is_prefix=True)]),
            ('"wor*"', [Term(("wor",))]),
            ('"never closed', [Term(("never",)), Term(("closed",))]),
            ("big big", [Term(("big",))]),
            ("AND OR NOT (", [Term(("and",)), Term(("or",)), Term(("not",))]),
            ("' \" * & |", []),
        ],
    )
    def test_reading(self, text: str, terms: list[Term]) -> None:
        assert search_terms.read_query(text) == terms


def test_positions_order_as_created_and_id_do() -> None:
    chance = random.Random(7)
    keys = [
        (f"2026-11-14T09:30:0{chance.randrange(10)}.12{chance.randrange(10)}Z", a + b * 14)
        for a in "0z9ab"
        for b in "az05"
    ]
    positions = [search_terms.position_of(*key) for key in sorted(keys)]
    assert positions == sorted(positions)
    assert search_terms.position_of("0001-01-01T00:00:00.000Z", "0" * 15) == 0
    assert search_terms.position_of("9999-12-31T23:59:59.999Z", "z" * 15) < 2**63


@pytest.mark.parametrize("is_indexed", [False, True])
class TestFinding:
    @pytest.fixture
    async def site(self, tenant: TenantWorld, is_indexed: bool) -> TenantWorld:
        """Also what only waits to be indexed is found, by another road."""
        await tenant.post(title="Winter coast", content_html="<p>Waves <b>and</b> storms</p>")
        await tenant.post(title="Crème brûlée", excerpt="A sweet coast", tags=["Küche", "news"])
        await tenant.post(title="Wintering", content_html="<script>coast</script>中国人")
        if is_indexed:
            await index_everything(tenant)
        return tenant

    @pytest.mark.parametrize(
        ("words", "expected"),
        [
            ("coast", ["Crème brûlée", "Winter coast"]),
            ("COAST winter", ["Winter coast"]),
            ("winter*", ["Wintering", "Winter coast"]),
            ("winter", ["Winter coast"]),
            ('"waves and storms"', ["Winter coast"]),
            ('"and waves"', []),
            ('"coast waves"', []),
            ("creme", ["Crème brûlée"]),
            ("kuche news", ["Crème brûlée"]),
            ('"kuche news"', []),
            ("国人", ["Wintering"]),
            ("人国", []),
            ("coast nowhere", []),
            ("!!!", []),
            ("win", []),
        ],
    )
    async def test_what_is_found(self, site: TenantWorld, words: str, expected: list[str]) -> None:
        assert await titles(site, words) == expected

    async def test_other_tenants_are_not_found(
        self, site: TenantWorld, other_tenant: TenantWorld
    ) -> None:
        await other_tenant.post(title="Another coast")
        assert await titles(other_tenant, "coast") == ["Another coast"]

    async def test_the_index_reflects_changes(self, site: TenantWorld) -> None:
        post = (await found(site, "waves")).items[0]
        await site.update("posts", post["id"], {"content_html": "<p>Calm</p>"})
        assert await titles(site, "waves") == []
        assert await titles(site, "calm") == ["Winter coast"]
        await site.update("posts", post["id"], {"status": "published"})
        assert await titles(site, "calm") == ["Winter coast"]
        records, posts = site.world.parts.records, site.world.collection("posts")
        await records.delete(system(site.id), posts, post["id"])
        assert await titles(site, "calm") == []
        await index_everything(site)
        assert await titles(site, "calm") == await titles(site, "waves") == []

    async def test_with_a_filter(self, site: TenantWorld) -> None:
        assert await titles(site, "coast", filter="tags ?= 'news'") == ["Crème brûlée"]
        assert await titles(site, "coast", filter="status = 'published'") == []
        assert len(await titles(site, "coast", filter="status = 'draft'")) == 2


async def test_pages_and_cursors_give_each_record_once(tenant: TenantWorld, app: World) -> None:
    records, posts = app.parts.records, app.collection("posts")
    async with records.unit(system(tenant.id), emit_events=False) as unit:
        made = [
            await unit.create(posts, {"title": f"Coast {n}"})
            for n in range(2 * IndexLimits().records_of_a_search)
        ]
    made += [await tenant.post(title="Coast") for _ in range(10)]
    expected = [post["id"] for post in sorted(made, key=lambda p: (p["created"], p["id"]))[::-1]]
    by_page, by_cursor, after = [], [], None
    per_page = 40
    for number in range(1, len(made) // per_page + 3):
        page = await found(tenant, "coast", page=number, per_page=per_page)
        by_page += [item["id"] for item in page.items]
        assert page.total == len(made)
        page = await found(tenant, "coast", after=after, per_page=per_page)
        by_cursor += [item["id"] for item in page.items]
        if page.items:
            after = (page.items[-1]["created"], page.items[-1]["id"])
    assert by_page == by_cursor == expected


async def test_a_cursor_whose_record_is_gone(tenant: TenantWorld, app: World) -> None:
    first, middle, last = [await tenant.post(title="Coast") for _ in range(3)]
    await app.parts.records.delete(system(tenant.id), app.collection("posts"), middle["id"])
    page = await found(tenant, "coast", after=(middle["created"], middle["id"]))
    assert [item["id"] for item in page.items] == [first["id"]]
    assert last["id"] not in {item["id"] for item in page.items}


async def test_records_with_the_same_position(tenant: TenantWorld, app: World) -> None:
    records, posts = app.parts.records, app.collection("posts")
    ids = [f"same{number:011d}" for number in range(5)]
    async with records.unit(system(tenant.id)) as unit:
        for each in ids:
            await unit.create(posts, {"id": each, "title": "Coast"})
    assert len(await titles(tenant, "coast")) == 5
    await tenant.update("posts", ids[3], {"title": "Calm"})
    assert [item["id"] for item in (await found(tenant, "calm")).items] == [ids[3]]
    for each in ids[:3]:
        await records.delete(system(tenant.id), posts, each)
    assert {item["id"] for item in (await found(tenant, "coast")).items} == {ids[4]}


async def test_only_what_a_visitor_may_read(tenant: TenantWorld, app: World) -> None:
    await tenant.published(title="Coast")
    await tenant.post(title="Secret coast")
    page = await app.parts.records.page(
        guest(tenant.id), app.collection("posts"), ListRequest(search="coast")
    )
    assert [item["title"] for item in page.items] == ["Coast"]
    assert page.total == 1


async def test_no_search_without_a_tenant_or_where_nothing_is_indexed(
    tenant: TenantWorld, app: World
) -> None:
    records = app.parts.records
    for tenant_id, name, sort in (
        (None, "posts", ""),
        (tenant.id, "tiers", ""),
        (tenant.id, "posts", "title"),
    ):
        wanted = ListRequest(search="coast", sort=sort)
        with pytest.raises(BadRequest):
            await records.page(system(tenant_id), app.collection(name), wanted)


async def test_a_long_text_is_found_by_its_beginning(tenant: TenantWorld) -> None:
    filler = "<p>" + "lorem ipsum " * 400_000 + "</p>"
    await tenant.post(title="Long", content_html="<p>needle</p>" + filler + "<p>haystack</p>")
    assert await titles(tenant, '"needle lorem ipsum"') == ["Long"]
    assert await titles(tenant, "haystack") == []


@settings(
    max_examples=rounds(24, 180),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(text=st.text(max_size=200), before=st.sampled_from(["", '"', "coast ", 'x"y" ']))
async def test_every_text_is_a_query(tenant: TenantWorld, text: str, before: str) -> None:
    page = await found(tenant, before + text)
    assert page.items == []
    assert page.total == 0


@pytest.mark.parametrize("seed", representatives(range(2)))
async def test_after_any_changes_the_index_matches_the_records(
    tenant: TenantWorld, app: World, seed: int
) -> None:
    chance = random.Random(seed)
    vocabulary = ["alpha", "beta", "gamma", "delta"]
    records, posts, caller = app.parts.records, app.collection("posts"), system(tenant.id)
    made: dict[str, Any] = {}
    for number in range(400):
        values = {"title": " ".join(chance.choices(vocabulary, k=2)), "tags": [str(number % 3)]}
        kind = chance.choice(["create", "create", "update", "delete", "fail"])
        if kind == "create" or not made:
            record = await records.create(caller, posts, values)
            made[record["id"]] = record
        elif kind == "update":
            key = chance.choice(list(made))
            made[key] = await records.update(caller, posts, key, values)
        elif kind == "delete":
            await records.delete(caller, posts, made.popitem()[0])
        else:
            with suppress(ZeroDivisionError):
                async with records.unit(caller) as unit:
                    await unit.create(posts, values)
                    raise ZeroDivisionError
    for query in (*vocabulary, "alpha beta", '"beta gamma"', "de*", "0", "2 alpha"):
        terms = search_terms.read_query(query)
        expected = {key for key, record in made.items() if _matches(posts, record, terms)}
        page = await found(tenant, query, per_page=500)
        assert {item["id"] for item in page.items} == expected
        assert page.total == len(expected)
    await index_everything(tenant)
    assert await _documents(tenant) == len(made)


async def test_a_change_while_others_are_indexed_is_indexed_after_them(
    tenant: TenantWorld, app: World
) -> None:
    index = app.parts.records.search_index
    post = await tenant.post(title="Before")
    waiting = await index.find_waiting(app.collection("posts"), tenant.id)
    await tenant.update("posts", post["id"], {"title": "After"})

    await index.write(scope_of(tenant.id), waiting)

    assert await titles(tenant, "after") == ["After"]
    assert await titles(tenant, "before") == []


async def test_a_search_says_when_the_index_is_behind(tenant: TenantWorld, app: World) -> None:
    for number in range(3):
        await tenant.post(title=f"Coast {number}")
    records = bounded(app, records=1, max_before_search=2)

    assert not (await found(tenant, "coast", records)).is_complete
    assert (await found(tenant, "coast", records)).is_complete


async def test_the_indexer_indexes_queued_records(tenant: TenantWorld, app: World) -> None:
    await tenant.post(title="Later")
    indexer = Indexer(app.parts.records.search_index)
    working = asyncio.create_task(indexer.run_forever())

    while await _documents(tenant) == 0:
        await asyncio.sleep(0.01)

    indexer.stop()
    await working


async def test_a_record_deleted_while_it_is_indexed_is_not_found(
    tenant: TenantWorld, app: World
) -> None:
    records, index = app.parts.records, app.parts.records.search_index
    post = await tenant.post(title="Gone")
    waiting = await index.find_waiting(app.collection("posts"), tenant.id)
    await records.delete(system(tenant.id), app.collection("posts"), post["id"])

    await index.write(scope_of(tenant.id), waiting)

    assert await _documents(tenant) == 0


async def test_a_recreated_record_is_not_found_by_the_deleted_ones_words(
    tenant: TenantWorld, app: World
) -> None:
    records, posts, index = app.parts.records, app.collection("posts"), _index(app)
    post = await tenant.post(title="Before")
    waiting = await index.find_waiting(posts, tenant.id)
    await records.delete(system(tenant.id), posts, post["id"])
    await tenant.post(id=post["id"], title="After")

    assert await index.write(scope_of(tenant.id), waiting) == 0

    assert await titles(tenant, "before") == []
    assert await titles(tenant, "after") == ["After"]
    await records.delete(system(tenant.id), posts, post["id"])
    assert await _documents(tenant) == 0


async def test_several_indexers_at_once_index_each_record_once(
    tenant: TenantWorld, app: World
) -> None:
    """As in several processes: each has an index of its own."""
    records, posts, database = app.parts.records, app.collection("posts"), app.parts.database
    async with records.unit(system(tenant.id), emit_events=False) as unit:
        made = [
            await unit.create(posts, {"title": f"Coast {n}"})
            for n in range(3 * IndexLimits().records_of_a_search)
        ]
    indexes = [SearchIndex(database, registry, tables) for _ in range(4)]

    await asyncio.gather(
        *(each.catch_up(tenant.id, posts) for each in indexes),
        *(tenant.update("posts", post["id"], {"title": "Calm"}) for post in made[::4]),
    )

    assert (await found(tenant, "calm", per_page=1)).total == len(made[::4])
    assert (await found(tenant, "coast", per_page=1)).total == len(made) - len(made[::4])
    assert await _documents(tenant) == len(made)


@asynccontextmanager
async def held_entries(tenant: TenantWorld) -> AsyncIterator[None]:
    """Another transaction has locked the tenant's entries; on SQLite it blocks all writers."""
    database = tenant.world.parts.database
    mine = sa.select(search_queue).where(search_queue.c.tenant_id == sa.bindparam("tenant"))
    async with database.transaction(scope_of(tenant.id)) as tx:
        rows = await tx.fetch(database.compile(mine.with_for_update()), (tenant.id,))
        assert rows
        yield


async def test_a_search_waits_for_records_that_another_process_indexes(tenant: TenantWorld) -> None:
    await tenant.post(title="Coast")
    async with held_entries(tenant):
        searching = asyncio.create_task(titles(tenant, "coast"))
        done, _ = await asyncio.wait({searching}, timeout=0.1)
        assert not done
    assert await searching == ["Coast"]


async def test_a_search_does_not_wait_for_long(tenant: TenantWorld, app: World) -> None:
    hurried = bounded(app, timeout_seconds=0.1)
    await tenant.post(title="Near coast")
    await index_everything(tenant)
    await tenant.post(title="Far coast")
    async with held_entries(tenant):
        searching = asyncio.create_task(titles(tenant, "coast", records=hurried))
        assert await searching == ["Near coast"]
    assert await titles(tenant, "coast") == ["Far coast", "Near coast"]


@SEVERAL_WRITERS
async def test_an_indexer_skips_records_that_a_change_has_locked(
    tenant: TenantWorld, app: World
) -> None:
    """If it waited, it would hold what the change is about to wait for."""
    records, posts, index = app.parts.records, app.collection("posts"), _index(app)
    first, second = [await tenant.post(title="Coast") for _ in range(2)]
    waiting = await index.find_waiting(posts, tenant.id)
    async with asyncio.timeout(120), records.unit(system(tenant.id)) as unit:
        await unit.delete(posts, second["id"])
        assert await index.write(scope_of(tenant.id), waiting) == 1
        await unit.delete(posts, first["id"])
    assert await titles(tenant, "coast") == []


@SEVERAL_WRITERS
async def test_a_text_that_is_indexed_while_it_changes_is_indexed_again(
    tenant: TenantWorld, app: World
) -> None:
    records, posts, index = app.parts.records, app.collection("posts"), _index(app)
    made = [await tenant.post(title="Coast") for _ in range(2)]
    waiting = await index.find_waiting(posts, tenant.id)
    async with asyncio.timeout(120), records.unit(system(tenant.id)) as unit:
        await unit.update(posts, made[1]["id"], {"title": "Calm"})
        assert await index.write(scope_of(tenant.id), waiting) == 2
        await unit.update(posts, made[0]["id"], {"title": "Calm"})
    assert await titles(tenant, "calm") == ["Calm", "Calm"]
    assert await titles(tenant, "coast") == []


async def test_a_refused_text_does_not_block_others(tenant: TenantWorld, app: World) -> None:
    posts, index = app.collection("posts"), _index(app)
    for title in ("Coast", "Bad coast", "Coast"):
        await tenant.post(title=title)
    waiting = [
        (entry, document._replace(words="\ud800") if "bad" in document.words else document)
        for entry, document in await index.find_waiting(posts, tenant.id)
    ]

    assert await index.index(scope_of(tenant.id), waiting) == 3

    assert await titles(tenant, "coast") == ["Coast", "Coast"]
    assert await index.find_waiting(posts, tenant.id) == []


async def test_the_longest_words_fit(tenant: TenantWorld) -> None:
    """Letters that are spelled with many more make a text of many long words."""
    beginnings = product(ascii_lowercase, repeat=3)
    words = ["".join(letters) + "\ufdfa" * 3 for letters in beginnings]
    await tenant.post(title="Long", content_html=" ".join(words))
    await tenant.post(title="Short")
    assert await titles(tenant, words[0]) == ["Long"]
    assert await titles(tenant, "short") == ["Short"]


async def test_a_batch_is_smaller_for_large_texts(tenant: TenantWorld, app: World) -> None:
    records = bounded(app, characters=12)
    for title in ("Coast", "Coast", "Coast and nothing but the coast"):
        await tenant.post(title=title)
    posts, index = app.collection("posts"), records.search_index
    assert len(await index.find_waiting(posts, tenant.id)) in (1, 2)
    assert len(await titles(tenant, "coast", records=records)) == 3


def test_an_erasure_empties_the_queue_before_the_documents() -> None:
    """Otherwise an indexer that has claimed an entry might add its document afterwards."""
    names = [table.name for table in reversed(all_tables().sorted_tables)]
    assert names.index("search_queue") < names.index("search_documents")


def _index(app: World) -> SearchIndex:
    return app.parts.records.search_index


@pytest.mark.parametrize("is_indexed", [False, True])
async def test_nothing_of_a_deleted_record_stays_in_the_file(
    tenant: TenantWorld, app: World, is_indexed: bool
) -> None:
    database, records, posts = app.parts.database, app.parts.records, app.collection("posts")
    merge = FullTextMerge(database)
    post = await tenant.post(title="Xylographer")
    if is_indexed:
        await index_everything(tenant)
    await tenant.update("posts", post["id"], {"title": "Xylophonist"})
    await records.delete(system(tenant.id), posts, post["id"])
    held_in = ["search_documents.words"]
    if merge.is_needed:
        held_in.append("search_words_data.block")
        async with database.transaction(scope_of(tenant.id)) as tx:
            is_first = True
            while await merge.step(tx, 500, is_first=is_first):
                is_first = False
    for column in held_in:
        table, _, name = column.partition(".")
        held: sa.Select[Any] = sa.select(sa.column(name)).select_from(sa.table(table))
        rows = await database.fetch(scope_of(tenant.id), database.compile(held))
        assert not any(b"xylo" in _bytes(row[0]) for row in rows)


def _bytes(value: Any) -> bytes:
    return value if isinstance(value, bytes) else str(value).encode()


def _matches(posts: Any, record: Any, terms: list[Term]) -> bool:
    text = f" {search_terms.document(posts, record)} "
    return all(f" {' '.join(term.words)}{'' if term.is_prefix else ' '}" in text for term in terms)


async def _documents(tenant: TenantWorld) -> int:
    database = tenant.world.parts.database
    table = full_text.documents
    counted = sa.select(sa.func.count()).where(table.c.tenant_id == sa.bindparam("tenant"))
    rows = await database.fetch(scope_of(tenant.id), database.compile(counted), (tenant.id,))
    return int(rows[0][0])
