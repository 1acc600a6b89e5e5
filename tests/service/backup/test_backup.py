"""`masthead backup` and `masthead restore`: what comes back is what was there, or nothing is."""

from __future__ import annotations

import asyncio
import json
import stat
import tarfile
from dataclasses import dataclass, replace
from pathlib import Path

import asyncpg
import msgspec
import pytest
import sqlalchemy as sa
from tests.databases import empty_postgres_url
from tests.object_stores import S3Server
from tests.service.backup.sites import Installation
from tests.world import PASSWORD, Account, TenantWorld, World, records_of

from masthead.engine.records.tables import record_counts, tenant_states
from masthead.faces.site_export.collection import export_key, site_exports
from masthead.faces.site_export.formats import Format
from masthead.service.background import job_runner
from masthead.service.backup import archive
from masthead.storage import archives
from masthead.storage.migrate import HEAD, OLDEST, sqlite_schema
from masthead.storage.snapshot import open_snapshot

pytestmark = pytest.mark.sweep

ENGINES = ("sqlite", "postgresql")
PICTURE = b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 8_000
SECRET = "sk-of-the-tenant"


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@dataclass
class Filled:
    """Contents of the original that a restored service must serve."""

    slug: str
    member: str
    key: str
    file: str


async def fill(world: World, installation: Installation) -> Filled:
    tenant = await world.new_tenant("demo", slug="demo")
    owner = await tenant.owner()
    member = await tenant.member(name="Ada")
    post = await tenant.published(title="The lighthouse keeper", content="<p>Fog</p>")
    await tenant.create(
        "comments",
        {
            "post_id": post["id"],
            "author_name": "Ada",
            "body": "Well said",
        },
    )
    await tenant.settings(ai_api_key=SECRET)
    answer = await owner.api.post(records_of("media"), files={"file": ("a.bin", PICTURE)})
    assert answer.status_code == 200, answer.text
    item = answer.json()
    made = await installation.json(
        "key", "create", "--tenant", "demo", "--name", "n", "--scope", "posts:read"
    )
    file = f"/api/files/media/{item['id']}/{item['file']}"
    return Filled(tenant.slug, member.email, made["key"], file)


async def assert_serves(world: World, filled: Filled) -> None:
    host = f"{filled.slug}.localhost"
    guest = world.client(host)
    signed_in = await guest.post(
        "/api/collections/blog_members/auth-with-password",
        json={"identity": filled.member, "password": PASSWORD},
    )
    assert signed_in.status_code == 200, signed_in.text
    by_key = await world.client(host, token=filled.key).get("/api/v1/posts?q=lighthouse")
    assert [each["title"] for each in by_key.json()["items"]] == ["The lighthouse keeper"]
    assert (await guest.get(filled.file)).content == PICTURE
    (settings,) = await world.parts.records.find(
        world.collection("site_settings"), {"slug": filled.slug}
    )
    secret = world.parts.records.reveal(world.collection("site_settings"), settings, "ai_api_key")
    assert secret == SECRET


class TestRoundTrip:
    @pytest.mark.parametrize("target", ENGINES)
    async def test_a_restored_backup_has_all_rows_and_serves_as_the_original(
        self, engine: str, target: str, tmp_path: Path
    ) -> None:
        original = Installation.empty(engine, tmp_path / "original")
        original.data_dir.parent.mkdir()
        file = tmp_path / "backup.tar"
        async with original.serving() as world:
            filled = await fill(world, original)
            written = await original.json("backup", str(file))
            rows = await original.rows()

        restored = Installation.empty(target, tmp_path / "restored")
        restored.data_dir.parent.mkdir()
        read = await restored.json("restore", str(file))

        assert written == {"file": str(file), **read}
        assert read["bytes"] == file.stat().st_size
        assert read["records"] >= 8
        assert read["media"] == 1
        assert await restored.rows() == rows
        assert (restored.data_dir / "secret.key").read_text() == (
            original.data_dir / "secret.key"
        ).read_text()
        async with restored.serving() as world:
            await assert_serves(world, filled)

    async def test_an_export_that_waits_for_its_download_is_in_it(
        self, engine: str, tmp_path: Path
    ) -> None:
        original = Installation.empty(engine, tmp_path / "original")
        original.data_dir.parent.mkdir()
        async with original.serving() as world:
            tenant = await world.new_tenant("demo")
            await world.parts.site_exports.begin(tenant.id, Format.CSV, "")
            await job_runner(world.parts).run_due()
            [export] = await world.parts.records.find(site_exports, {})
            await original.json("backup", str(tmp_path / "backup.tar"))
        with tarfile.open(tmp_path / "backup.tar") as opened:
            assert f"objects/{export_key(export)}" in opened.getnames()

    async def test_what_holds_secrets_is_for_its_owner_alone(
        self, engine: str, tmp_path: Path
    ) -> None:
        _, file = await small_backup(engine, tmp_path)
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        restored = Installation.empty(engine, tmp_path / "restored")
        restored.data_dir.parent.mkdir()
        await restored.json("restore", str(file))
        private = [restored.data_dir / "secret.key", *restored.data_dir.glob("own.db")]
        assert [stat.S_IMODE(each.stat().st_mode) for each in private] == [0o600] * len(private)
        assert [each.name for each in tmp_path.iterdir() if each.name.startswith(".")] == []

    async def test_media_come_from_a_bucket_and_go_to_one(
        self, engine: str, tmp_path: Path, s3_environ: S3Server
    ) -> None:
        file = tmp_path / "backup.tar"
        storage = {"MASTHEAD_STORAGE_URL": s3_environ.new_url()}
        original = Installation.empty(engine, tmp_path / "original", **storage)
        original.data_dir.parent.mkdir()
        async with original.serving() as world:
            filled = await fill(world, original)
            assert (await original.json("backup", str(file)))["media"] == 1

        storage = {"MASTHEAD_STORAGE_URL": s3_environ.new_url()}
        restored = Installation.empty(engine, tmp_path / "restored", **storage)
        restored.data_dir.parent.mkdir()
        assert (await restored.json("restore", str(file)))["media"] == 1
        async with restored.serving() as world:
            await assert_serves(world, filled)

        elsewhere = Installation.empty(engine, tmp_path / "elsewhere", **storage)
        refused = await elsewhere.command("restore", str(file))
        assert refused.code == 1
        assert "media storage is not empty" in refused.err

    async def test_an_older_schema_is_brought_up_to_date(self, engine: str, tmp_path: Path) -> None:
        original = Installation.empty("sqlite", tmp_path / "original")
        original.data_dir.parent.mkdir()
        async with original.serving() as world:
            filled = await fill(world, original)
            await original.json("backup", str(tmp_path / "new.tar"))
        as_of_an_older_version(tmp_path / "new.tar", tmp_path / "old.tar", OLDEST)

        restored = Installation.empty(engine, tmp_path / "restored")
        restored.data_dir.parent.mkdir()
        await restored.json("restore", str(tmp_path / "old.tar"))
        assert (await restored.json("migrate")) == {"revision": HEAD}
        async with restored.serving() as world:
            await assert_serves(world, filled)

    async def test_a_root_secret_from_the_environment_is_part_of_it(self, tmp_path: Path) -> None:
        keys = {"MASTHEAD_SECRET_KEY": f"{'n' * 40},{'o' * 40}"}
        _, file = await small_backup("sqlite", tmp_path, **keys)
        other = Installation.empty("sqlite", tmp_path / "b", MASTHEAD_SECRET_KEY="x" * 40)
        refused = await other.command("restore", str(file))
        assert refused.code == 1
        assert "MASTHEAD_SECRET_KEY lacks a root secret" in refused.err
        assert not other.data_dir.exists()

        without = Installation.empty("sqlite", tmp_path / "c")
        await without.json("restore", str(file))
        assert (without.data_dir / "secret.key").read_text().strip() == keys["MASTHEAD_SECRET_KEY"]
        same = Installation.empty("sqlite", tmp_path / "d", **keys)
        await same.json("restore", str(file))
        assert not (same.data_dir / "secret.key").exists()


class TestUnderWrites:
    async def test_the_archive_is_one_moment_of_a_database_that_is_written_to(
        self, engine: str, tmp_path: Path
    ) -> None:
        original = Installation.empty(engine, tmp_path / "original")
        original.data_dir.parent.mkdir()
        file = tmp_path / "backup.tar"
        async with original.serving() as world:
            tenant = await world.new_tenant("demo")
            owner = await tenant.owner()
            for number in range(200):
                await tenant.post(title=f"Before {number}", content="word " * 500)
            writers = Writers(owner)
            async with writers.running(8):
                before = set(writers.acknowledged)
                outcome = await original.command("backup", str(file), "--json")
                assert outcome.code == 0, outcome.err
                during = set(writers.acknowledged) - before

        restored = Installation.empty(engine, tmp_path / "restored")
        restored.data_dir.parent.mkdir()
        await restored.json("restore", str(file))
        async with restored.serving() as world:
            titles = await titles_of(world, tenant)
            found = {title for title in titles if title.startswith("During")}
            assert during, "nothing was written meanwhile: the test says nothing"
            assert before <= found <= writers.acknowledged
            assert len(titles) == 200 + len(found)
            await assert_consistent(restored, tenant, len(titles))

    async def test_files_follow_the_rows_of_that_moment(self, engine: str, tmp_path: Path) -> None:
        original = Installation.empty(engine, tmp_path / "original")
        original.data_dir.parent.mkdir()
        file = tmp_path / "backup.tar"
        async with original.serving() as world:
            tenant = await world.new_tenant("demo")
            owner = await tenant.owner()
            items = [
                (await owner.api.post(records_of("media"), files={"file": (name, b"text")})).json()
                for name in ("a.txt", "b.txt")
            ]
            gone = f"{tenant.id}/media/{items[0]['id']}/{items[0]['file']}"
            await world.parts.objects.delete(gone)
            await world.parts.objects.put(f"{tenant.id}/media/{'n' * 15}/new.txt", b"no row yet")
            outcome = await original.command("backup", str(file), "--json")
        assert json.loads(outcome.out)["media"] == 1
        assert f"1 stored file is missing, which records name: {gone}." in outcome.err
        with tarfile.open(file) as tar:
            names = [name for name in tar.getnames() if name.startswith(archives.OBJECTS)]
        assert names == [f"objects/{tenant.id}/media/{items[1]['id']}/{items[1]['file']}"]

    async def test_row_level_security_hides_nothing_from_an_ordinary_owner(
        self, tmp_path: Path
    ) -> None:
        with_owner = await plain_owner_url(tmp_path)
        original = Installation(tmp_path / "data", with_owner)
        async with original.serving() as world:
            filled = await fill(world, original)
            await original.json("backup", str(tmp_path / "backup.tar"))
            rows = await original.rows()
        assert len(rows["posts"]) == 1
        restored = Installation(tmp_path / "restored", await plain_owner_url(tmp_path))
        await restored.json("restore", str(tmp_path / "backup.tar"))
        assert await restored.rows() == rows
        forced = "SELECT relforcerowsecurity FROM pg_class WHERE oid = 'posts'::regclass"
        connection = await asyncpg.connect(restored.database_url)
        assert await connection.fetchval(forced)
        await connection.close()
        async with restored.serving() as world:
            await assert_serves(world, filled)


class TestRefusals:
    async def test_an_existing_file_is_not_replaced(self, tmp_path: Path) -> None:
        original, file = await small_backup("sqlite", tmp_path)
        before = file.read_bytes()
        refused = await original.command("backup", str(file))
        assert (refused.code, refused.err) == (
            1,
            f"masthead: {file} exists already. Name a new file.\n",
        )
        assert file.read_bytes() == before

    async def test_a_lost_root_secret_is_not_replaced_by_a_new_one(
        self, engine: str, tmp_path: Path
    ) -> None:
        original, _ = await small_backup(engine, tmp_path)
        (original.data_dir / "secret.key").unlink()
        refused = await original.command("backup", str(tmp_path / "again.tar"))
        assert refused.code == 1
        assert "secret.key is missing" in refused.err
        assert not (tmp_path / "again.tar").exists()
        assert not (original.data_dir / "secret.key").exists()

    @pytest.mark.parametrize("has_secrets", [True, False])
    async def test_a_shell_without_the_secret_of_the_service_is_refused(
        self, engine: str, tmp_path: Path, has_secrets: bool
    ) -> None:
        shell = Installation.empty(engine, tmp_path)
        async with shell.serving() as world:
            # The first start has generated a root secret, which is still there.
            await world.new_tenant("demo", slug="demo")
        service = replace(shell, environment={"MASTHEAD_SECRET_KEY": "s" * 40})
        async with service.serving() as world:
            tenant = await world.new_tenant("other", slug="other")
            if has_secrets:
                await tenant.settings(ai_api_key=SECRET)
        file = tmp_path / "wrong.tar"
        for arguments in (
            ("backup", str(file)),
            ("settings", "set", "--tenant", "demo", "ai_api_key=x"),
        ):
            refused = await shell.command(*arguments)
            assert (refused.code, refused.out) == (1, "")
            assert "MASTHEAD_SECRET_KEY" in refused.err
        assert not file.exists()
        advice = (await shell.command("doctor")).out
        assert "another root secret" in advice
        await service.json("backup", str(file))

    async def test_secrets_that_none_of_the_root_secrets_reads_are_noticed_without_a_start(
        self, engine: str, tmp_path: Path
    ) -> None:
        service = Installation.empty(engine, tmp_path, MASTHEAD_SECRET_KEY="s" * 40)
        async with service.serving() as world:
            tenant = await world.new_tenant("demo", slug="demo")
            await tenant.settings(ai_api_key=SECRET)
        (service.data_dir / "secret.id").unlink()
        shell = replace(service, environment={"MASTHEAD_SECRET_KEY": "t" * 40})
        refused = await shell.command("backup", str(tmp_path / "wrong.tar"))
        assert refused.code == 1
        assert "MASTHEAD_SECRET_KEY" in refused.err

    async def test_a_data_directory_that_holds_anything_is_left_alone(
        self, engine: str, tmp_path: Path
    ) -> None:
        _, file = await small_backup(engine, tmp_path)
        target = Installation.empty(engine, tmp_path / "target")
        target.data_dir.mkdir(parents=True)
        (target.data_dir / "lost+found").mkdir()
        (target.data_dir / "notes.txt").write_text("mine")
        refused = await target.command("restore", str(file))
        assert refused.code == 1
        assert "is not empty (it holds notes.txt)" in refused.err
        (target.data_dir / "notes.txt").unlink()
        await target.json("restore", str(file))

    async def test_a_database_with_tables_is_left_alone(self, engine: str, tmp_path: Path) -> None:
        original, file = await small_backup(engine, tmp_path)
        target = Installation(tmp_path / "target", original.database_url)
        refused = await target.command("restore", str(file))
        assert (refused.code, refused.err) == (
            1,
            "masthead: The database is not empty. Restore into an empty one.\n",
        )
        assert not target.data_dir.exists()

    async def test_a_damaged_archive_leaves_no_trace(self, engine: str, tmp_path: Path) -> None:
        _, file = await small_backup(engine, tmp_path)
        content = bytearray(file.read_bytes())
        content[content.index(b"objects/") + 700] ^= 1
        file.write_bytes(content)
        target = Installation.empty(engine, tmp_path / "target")
        refused = await target.command("restore", str(file))
        assert (refused.code, refused.err) == (
            1,
            "masthead: The archive is damaged or incomplete. Nothing was restored.\n",
        )
        assert not target.data_dir.exists()
        if engine == "postgresql":
            connection = await asyncpg.connect(target.database_url)
            assert await connection.fetchval("SELECT to_regclass('posts')") is None
            await connection.close()

    async def test_a_changed_or_cut_entry_is_noticed_wherever_it_is(self, tmp_path: Path) -> None:
        _, file = await small_backup("sqlite", tmp_path)
        content = file.read_bytes()
        damaged = tmp_path / "damaged.tar"
        with tarfile.open(file) as tar:
            places = [each.offset_data + each.size // 2 for each in tar.getmembers()]
        for place in places:
            changed = bytearray(content)
            changed[place] ^= 0x20
            damaged.write_bytes(changed)
            with pytest.raises(archives.DamagedArchive):
                archive.read_contents(damaged)
        lengths = (*places, content.index(b"SHA256SUMS"), len(content) - 1, len(content) + 1)
        for length in lengths:
            damaged.write_bytes(content[:length].ljust(length, b"\0"))
            with pytest.raises(archives.DamagedArchive):
                archive.read_contents(damaged)

    @pytest.mark.parametrize("content", [b"", b"hello", bytes(20_000), b"PK\x03\x04" * 1000])
    async def test_another_file_is_no_archive(self, content: bytes, tmp_path: Path) -> None:
        (tmp_path / "file").write_bytes(content)
        with pytest.raises(archive.NotAnArchive):
            archive.read_contents(tmp_path / "file")

    async def test_an_archive_of_a_newer_version_is_refused(self, tmp_path: Path) -> None:
        _, file = await small_backup("sqlite", tmp_path)
        as_of_an_older_version(file, tmp_path / "newer.tar", "9999")
        target = Installation.empty("sqlite", tmp_path / "target")
        refused = await target.command("restore", str(tmp_path / "newer.tar"))
        assert refused.code == 1
        assert "newer version of Masthead" in refused.err
        assert not target.data_dir.exists()

    async def test_an_archive_of_no_released_version_is_refused(self, tmp_path: Path) -> None:
        _, file = await small_backup("sqlite", tmp_path)
        as_of_an_older_version(file, tmp_path / "older.tar", "0047")
        target = Installation.empty("sqlite", tmp_path / "target")
        for words in (["restore"], ["backup", "verify"]):
            refused = await target.command(*words, str(tmp_path / "older.tar"))
            assert refused.code == 1
            assert "No released version of Masthead wrote this archive." in refused.err
        assert not target.data_dir.exists()


async def small_backup(
    engine: str, tmp_path: Path, **environment: str
) -> tuple[Installation, Path]:
    original = Installation.empty(engine, tmp_path / "original", **environment)
    original.data_dir.parent.mkdir()
    file = tmp_path / "backup.tar"
    async with original.serving() as world:
        owner = await (await world.new_tenant("demo")).owner()
        await owner.api.post(records_of("media"), files={"file": ("a.txt", b"text" * 500)})
        await original.json("backup", str(file))
    return original, file


class Writers:
    """Owners who publish as fast as they can, and remember what was acknowledged."""

    def __init__(self, owner: Account) -> None:
        self._owner = owner
        self._is_over = False
        self.acknowledged: set[str] = set()

    def running(self, count: int) -> _Running:
        return _Running(self, count)

    async def write(self, number: int) -> None:
        round_ = 0
        while not self._is_over:
            title = f"During {number} {round_}"
            answer = await self._owner.api.post(records_of("posts"), json={"title": title})
            assert answer.status_code == 200, answer.text
            self.acknowledged.add(title)
            round_ += 1

    def end(self) -> None:
        self._is_over = True


class _Running:
    def __init__(self, writers: Writers, count: int) -> None:
        self._writers, self._count = writers, count

    async def __aenter__(self) -> None:
        self._tasks = [
            asyncio.create_task(self._writers.write(number)) for number in range(self._count)
        ]
        while not self._writers.acknowledged:
            await asyncio.sleep(0)

    async def __aexit__(self, *_: object) -> None:
        self._writers.end()
        await asyncio.gather(*self._tasks)


async def titles_of(world: World, tenant: TenantWorld) -> list[str]:
    posts = world.collection("posts")
    found = await world.parts.records.find(posts, {}, tenant_id=tenant.id, limit=100_000)
    return [each["title"] for each in found]


async def assert_consistent(restored: Installation, tenant: TenantWorld, posts: int) -> None:
    """Counters, versions and events are of the same moment as the rows."""
    rows = await restored.rows()
    events = [row for row in rows["events"] if row[0] == tenant.id]
    created = [row for row in events if "post.created" in row]
    assert len(created) == posts
    async with open_snapshot(restored.database_url) as snapshot:
        versions = await read(snapshot, tenant_states)
        counts = await read(snapshot, record_counts)
    (version,) = [row["version"] for row in versions if row["tenant_id"] == tenant.id]
    assert version >= max(row[1] for row in events)
    total = [row for row in counts if row["collection"] == "posts" and posts in row.values()]
    assert total


async def read(snapshot: object, table: sa.Table) -> list[dict[str, object]]:
    names = [each.name for each in table.columns]
    return [
        dict(zip(names, row, strict=True))
        async for rows in snapshot.rows(*table.columns)  # type: ignore[attr-defined]
        for row in rows
    ]


def as_of_an_older_version(file: Path, target: Path, revision: str) -> None:
    """The archive with the tables and columns that a schema had."""
    contents = archive.read_contents(file)
    header = contents.header
    is_known = OLDEST <= revision <= HEAD
    kept = tables_of(revision, target.with_suffix(".db")) if is_known else header.tables
    columns = {
        name: [each for each in header.tables[name].columns if each in kept_columns(kept[name])]
        for name in header.tables
        if name in kept
    }
    layouts = {
        name: archives.TableLayout(names, [n for n in header.tables[name].binary if n in names])
        for name, names in columns.items()
    }
    with target.open("wb") as out:
        writer = archives.ArchiveWriter(out, 0)
        older = msgspec.structs.replace(header, revision=revision, tables=layouts)
        writer.add(archive.HEADER, msgspec.json.encode(older))
        writer.add(archive.SECRETS, contents.secrets.encode())
        for name, entry in archives.entries(file):
            if name.startswith(archives.OBJECTS):
                writer.add(name, entry.read())
                continue
            table = name.split("/")[1]
            if table not in layouts:
                continue
            full = header.tables[table]
            chunks = archives.RowChunks(writer, table)
            places = [full.columns.index(each) for each in layouts[table].columns]
            for row in archives.read_rows(entry, full):
                chunks.add([row[place] for place in places])
            chunks.flush()
        writer.finish()
        writer.close()


def kept_columns(kept: object) -> list[str]:
    return kept.columns if isinstance(kept, archives.TableLayout) else list(kept)  # type: ignore


def tables_of(revision: str, path: Path) -> dict[str, list[str]]:
    sqlite_schema(path, revision)
    inspector = sa.inspect(sa.create_engine(f"sqlite:///{path}", poolclass=sa.pool.NullPool))
    return {
        name: [each["name"] for each in inspector.get_columns(name)]
        for name in inspector.get_table_names()
    }


async def plain_owner_url(tmp_path: Path) -> str:
    """An empty database of a role that is no superuser."""
    url = empty_postgres_url()
    connection = await asyncpg.connect(url)
    await connection.execute(
        "DO $$ BEGIN IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'backup_owner') "
        "THEN CREATE ROLE backup_owner LOGIN; END IF; END $$;"
        "GRANT ALL ON SCHEMA public TO backup_owner"
    )
    await connection.close()
    return url.replace("//postgres:", "//backup_owner:")
