"""Rules about the whole package: the direction of imports, and others."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from tests.parsed import nodes_of, reads_the_source, tree_of

import masthead
from masthead.service.schema import registry

ROOT = Path(masthead.__file__).parent
MODULES = sorted(ROOT.rglob("*.py"))
REPOSITORY = Path(__file__).parents[1]

pytestmark = reads_the_source

# From the floor up, in the order of ARCHITECTURE.md: a module imports from its own wing and from
# those before it.
_LISTED = (REPOSITORY / "ARCHITECTURE.md").read_text().partition("| wing | contains |")[2]
WINGS = re.findall(r"^\| `(\w+)/` \|", _LISTED.partition("\n\n")[0], re.MULTILINE)
# Their parts lean on each other; in the other wings each folder is a room of its own.
ONE_ROOM = ("web", "storage")

# Inside `faces/importers/`, from the top down: a module imports from its own room and from those
# below.
IMPORTERS = (
    ("jobs",),
    ("tasks", "member_csv"),
    ("write",),
    ("platforms",),
    ("convert",),
    ("files",),
    ("source", "report", "dates", "old_paths", "collection", "tables"),
)
# Each platform is read without the others.
PLATFORMS = ("wordpress", "ghost", "substack")

MAY_SPEAK_SQL = (
    "storage/",
    "engine/records/",
    "engine/events/",
    "engine/jobs/",
    # Old entries of the log, of all tenants.
    "engine/audit/retention.py",
    # What is no record: sign-ins and attempts at them, rate limits, the last use of a key or a
    # sign-in, answers kept for a repeat, the version that a cached answer stands on, errors.
    "identity/limits/sign_in_throttle.py",
    "identity/limits/store",
    "identity/limits/tables.py",
    "identity/codes.py",
    "identity/last_uses.py",
    "identity/sign_ins.py",
    "identity/tables.py",
    "web/idempotency.py",
    "web/cache.py",
    "web/error_log.py",
    "web/tables.py",
    # Views are counted in sums, and readers are forgotten.
    "features/statistics/",
    # Which posts are related is worked out, and no record.
    "features/posts/related_rows.py",
    "features/posts/tables.py",
    # What AI has cost is no record either.
    "features/ai/ledger.py",
    # Jobs are no records.
    "faces/admin/job_queue.py",
    # What waits in all queues.
    "service/metrics/queues.py",
    # Subscriptions that another process has to answer.
    "faces/record_api/realtime/relay.py",
    "faces/record_api/realtime/tables.py",
    # The deliveries' own queue and its tables.
    "features/webhooks/",
    # Which payment events were taken, what was paid back, and the nightly report.
    "features/payments/",
    # Emails to be sent, how they ended, links in them, and new addresses that wait for a proof.
    "outside/mail/outbox.py",
    "outside/mail/tables.py",
    "features/members/mail_log.py",
    "features/members/mailed_links.py",
    "features/members/email_change.py",
    "features/members/tables.py",
    # The recipients of mailings, and who among the members they are.
    "features/mailings/actions.py",
    "features/mailings/audience.py",
    "features/mailings/progress.py",
    "features/mailings/queue.py",
    "features/mailings/recipients.py",
    "features/mailings/staging.py",
    "features/mailings/queue_statements.py",
    "features/mailings/tracking.py",
    "features/mailings/report_tokens.py",
    "features/mailings/reports.py",
    "features/mailings/services.py",
    "features/mailings/starting.py",
    "features/mailings/stopping.py",
    "features/mailings/tables.py",
    # What was imported from where.
    "faces/importers/tables.py",
    "faces/importers/write/previous_imports.py",
    # An erasure reaches every table, whatever it is of.
    "features/privacy/rows.py",
    "features/privacy/email_search.py",
    # Reads every table there is.
    "service/backup/take.py",
    # Every table of a site.
    "faces/site_archive/checking.py",
    "faces/site_archive/importing.py",
    "faces/site_archive/tables.py",
    # Looks at a database that the service itself may not be able to open.
    "service/cli/installation_checks.py",
    "service/deep_check/",
    "service/cli/causes.py",
)
# `AWS_*` are the object store's own, shared with every other tool that speaks S3.
MAY_READ_ENVIRONMENT = (
    "base/config/settings.py",
    "service/app.py",
    "service/cli/",
    "service/serve/",
    "__main__.py",
    "storage/open_objects.py",
)
# A setting's form, which is read before there is a database.
MAY_KNOW_THE_ENGINE = ("storage/", "base/config/")


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def floor_of(name: str) -> int:
    """`__main__`, which starts the service, stands above all wings."""
    wing = name.split("/")[0]
    return WINGS.index(wing) if wing in WINGS else len(WINGS)


def imports_of(path: Path) -> Iterator[str]:
    """Dotted names, also of imports inside functions and for the type checker alone."""
    for node in nodes_of(path):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{name_of(path)} imports by a relative name"
            assert node.module
            if node.module.removeprefix("masthead.") in WINGS:
                yield from (f"{node.module}.{alias.name}" for alias in node.names)
            else:
                yield node.module


def own_imports_of(path: Path) -> Iterator[str]:
    for name in imports_of(path):
        if name.startswith("masthead."):
            yield name.removeprefix("masthead.").replace(".", "/")


def modules(*, without: tuple[str, ...] = ()) -> list[Path]:
    return [path for path in MODULES if not name_of(path).startswith(without)]


def test_the_listing_of_the_package_is_that_of_the_wings() -> None:
    found = {path.name for path in ROOT.iterdir() if path.name != "__pycache__"}
    assert found == {*WINGS, "__init__.py", "__main__.py"}


def test_imports_point_one_way() -> None:
    upwards = {
        (name_of(path), name)
        for path in MODULES
        for name in own_imports_of(path)
        if floor_of(name) > floor_of(name_of(path))
    }
    assert not upwards


def test_rooms_do_not_depend_on_each_other_in_a_circle() -> None:
    rooms: dict[str, set[str]] = {}
    for path in modules():
        room = _room_of(name_of(path))
        rooms.setdefault(room, set()).update(map(_room_of, own_imports_of(path)))
    rooms = {room: imported - {room} for room, imported in rooms.items()}
    while rooms:
        free = {room for room, imported in rooms.items() if not imported & rooms.keys()}
        assert free, f"a circle among {sorted(rooms)}"
        rooms = {room: imported for room, imported in rooms.items() if room not in free}


def test_no_module_imports_itself_through_others() -> None:
    files = {name_of(path).removesuffix(".py").removesuffix("/__init__") for path in MODULES}
    below: dict[str, set[str]] = {}
    for path in MODULES:
        name = name_of(path).removesuffix(".py").removesuffix("/__init__")
        below[name] = set(modules_named_in(path, files)) - {name}
    # Modules that import nothing that is left are taken away, until none is or only circles are.
    left = set(below)
    while free := {each for each in left if not below[each] & left}:
        left -= free
    assert sorted(left) == []


def modules_named_in(path: Path, files: set[str]) -> Iterator[str]:
    """All modules that it imports: in functions and for the type checker, too."""
    for node in nodes_of(path):
        if isinstance(node, ast.ImportFrom) and node.module:
            parent = node.module.removeprefix("masthead").removeprefix(".").replace(".", "/")
            for alias in node.names:
                name = f"{parent}/{alias.name}".removeprefix("/")
                yield name if name in files else parent


def _room_of(name: str) -> str:
    wing, *rest = name.split("/")
    if wing in ONE_ROOM or not rest:
        return wing
    inner = rest[0].removesuffix(".py")
    is_package = (ROOT / wing / inner / "__init__.py").exists()
    # Accounts, sessions and keys are one subject in many modules; elsewhere a module is its own.
    return wing if wing == "identity" and not is_package else f"{wing}/{inner}"


def test_the_engine_knows_nothing_of_the_product() -> None:
    """It imports no part that does, and names only the collections without which no tenant can be.
    Posts, comments, media and pages plug into it by what their collections declare; the audit log
    is told of changes at the composition."""
    engine = [path for path in MODULES if name_of(path).startswith("engine/records/")]
    may_know = ("engine/records", "engine/events", "engine/jobs", "storage/", "base/")
    assert [
        (name_of(path), name)
        for path in engine
        for name in own_imports_of(path)
        if not name.startswith(may_know)
    ] == []
    collections = {each.name for each in registry.collections}
    named = {
        node.value
        for path in engine
        for node in nodes_of(path)
        if isinstance(node, ast.Constant) and node.value in collections
    }
    assert named <= {"tenants", "site_settings", "_superusers", "trash", "trash_items"}


def test_the_engine_has_no_words_of_the_product() -> None:
    """Neither a name in it nor a text says what a site consists of."""
    product = {"comment", "comments", "media", "redirect", "redirects", "menu", "newsletter"}
    wrong = []
    for path in (path for path in MODULES if name_of(path).startswith("engine/records/")):
        for node in nodes_of(path):
            for name in names_in(node):
                if set(re.split(r"[^a-z]+", name.lower())) & product:
                    wrong.append((name_of(path), name))
    assert wrong == []


def names_in(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Name):
        yield node.id
    elif isinstance(node, ast.Attribute):
        yield node.attr
    elif isinstance(node, ast.arg | ast.keyword) and node.arg:
        yield node.arg
    elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        yield node.name
    elif isinstance(node, ast.Constant) and isinstance(node.value, str):
        # A docstring may have an example of them.
        yield node.value if len(node.value.split()) == 1 else ""


def importer_arrows() -> set[tuple[str, str]]:
    """From each module of the importers to those that it imports, also inside functions."""
    modules = {name_of(path).removesuffix(".py") for path in MODULES}
    return {
        (name_of(path).removesuffix(".py"), imported)
        for path in MODULES
        if name_of(path).startswith("faces/importers/")
        for node in nodes_of(path)
        if isinstance(node, ast.ImportFrom) and node.module
        for name in (node.module, *(f"{node.module}.{alias.name}" for alias in node.names))
        if (imported := name.removeprefix("masthead.").replace(".", "/")) in modules
        and imported.startswith("faces/importers/")
    }


def importers_room(module: str) -> tuple[int, str]:
    """The number of its layer, and its name."""
    room = module.split("/")[2]
    return next(number for number, rooms in enumerate(IMPORTERS) if room in rooms), room


def test_importers_point_one_way() -> None:
    arrows = importer_arrows()
    assert len(arrows) > 150
    wrong = [
        f"{module} imports {imported}"
        for module, imported in sorted(arrows)
        if not may_import(importers_room(module), importers_room(imported))
    ]
    assert wrong == []


def may_import(one: tuple[int, str], other: tuple[int, str]) -> bool:
    """From a layer below or from the same room. The lowest layer has only single files."""
    (layer, room), (other_layer, other_room) = one, other
    is_floor = layer == other_layer == len(IMPORTERS) - 1
    return other_layer > layer or room == other_room or is_floor


def test_no_platform_imports_another() -> None:
    of_platforms = [
        (module.split("/")[3], imported.split("/")[3], module)
        for module, imported in importer_arrows()
        if module.startswith("faces/importers/platforms/")
        and imported.startswith("faces/importers/platforms/")
    ]
    assert of_platforms
    crossing = [
        module
        for one, other, module in of_platforms
        if one in PLATFORMS and other in PLATFORMS and one != other
    ]
    assert crossing == []


def test_only_code_below_the_faces_contains_sql() -> None:
    drivers = ("sqlalchemy", "sqlite3", "asyncpg", "alembic")
    assert [
        (name_of(path), name)
        for path in modules(without=MAY_SPEAK_SQL)
        for name in imports_of(path)
        if name.split(".")[0] in drivers
    ] == []


# What a `msgspec.Struct` can't do: hide a field from the repr (keys), describe its fields
# (settings), or leave some to be set later.
MAY_BE_DATACLASSES = {
    "features/ai/providers.py",
    "service/cli/commands/serve.py",
    "base/config/settings.py",
    "outside/mail/message.py",
    "outside/mail/signing.py",
    "features/payments/checkout.py",
    "storage/database.py",
    "storage/dialects.py",
    "storage/postgres/database.py",
    "web/v1/call.py",
}


def test_values_are_structs() -> None:
    """A process imports hundreds of them at its start. A dataclass takes almost a millisecond to
    define, because it writes and compiles its methods; a struct takes a fortieth of that."""
    found = {name_of(path) for path in MODULES if "dataclasses" in imports_of(path)}
    assert found == MAY_BE_DATACLASSES


def test_a_module_says_what_it_is_for() -> None:
    assert [
        name_of(path)
        for path in MODULES
        if not ast.get_docstring(tree_of(path)) and not is_empty_package(path)
    ] == []


def is_empty_package(path: Path) -> bool:
    return path.name == "__init__.py" and not path.read_text().strip()


_GENITIVE = re.compile(r'^ *"""(?:Of|By|What)\b', re.MULTILINE)


def test_a_docstring_begins_with_its_subject_or_verb() -> None:
    """One that begins with *Of*, *By* or *What* leaves the reader to look for its noun."""
    assert [
        path.relative_to(REPOSITORY).as_posix()
        for name in ("src", "tests", "bench", "release")
        for path in (REPOSITORY / name).rglob("*.py")
        if _GENITIVE.search(path.read_text())
    ] == []


def test_only_storage_checks_which_database_it_is() -> None:
    for path in modules(without=MAY_KNOW_THE_ENGINE):
        nodes = nodes_of(path)
        constants = {node.value for node in nodes if isinstance(node, ast.Constant)}
        assert not constants & {"sqlite", "postgresql", "postgres"}, name_of(path)
        names = [
            ast.unparse(node.value)
            for node in nodes
            if isinstance(node, ast.Attribute) and node.attr == "name"
        ]
        databases = [each for each in names if each.rpartition(".")[2].lstrip("_") == "database"]
        assert databases == [], name_of(path)


def test_every_table_is_asked_for_by_name_or_with_all_tables() -> None:
    """`metadata` lacks the tables of collections that nothing has used yet."""
    assert [
        name_of(path)
        for path in MODULES
        for node in nodes_of(path)
        if isinstance(node, ast.Attribute)
        and node.attr in ("tables", "sorted_tables")
        and isinstance(node.value, ast.Name)
        and node.value.id == "metadata"
    ] == []


def test_no_module_prints() -> None:
    assert [
        name_of(path)
        for path in MODULES
        for node in nodes_of(path)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "print"
    ] == []


def test_the_environment_is_read_in_one_place() -> None:
    assert [
        name_of(path)
        for path in modules(without=MAY_READ_ENVIRONMENT)
        for node in nodes_of(path)
        if isinstance(node, ast.Attribute) and node.attr in ("environ", "getenv")
    ] == []


# Called by others, in their order: dkimpy computes the header of a signature.
TAKE_MORE_BY_POSITION = {("outside/mail/dkim_signature.py", "gen_header")}


def test_a_fifth_argument_is_given_by_name() -> None:
    """A reader of a call with five values in a row can't tell which is which. Migrations stay as
    they were."""
    found = {
        (name_of(path), node.name)
        for path in modules(without=("storage/migrations/versions/",))
        for node in nodes_of(path)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and positional(node) > 4
    }
    assert found == TAKE_MORE_BY_POSITION


def positional(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    names = [each.arg for each in (*function.args.posonlyargs, *function.args.args)]
    return len(names) - (names[:1] in (["self"], ["cls"]))
