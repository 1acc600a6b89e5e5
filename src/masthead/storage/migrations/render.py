"""Writes the next migration from the difference between the history and the declared tables.

    python -m masthead.storage.migrations.render masthead.service.schema:complete_metadata "initial"

Then format and review the file, and set `HEAD` in `masthead.storage.migrate`.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Iterable
from importlib import import_module
from pathlib import Path
from typing import Any, Literal

from alembic import command
from alembic.autogenerate.api import AutogenContext
from alembic.autogenerate.render import renderers
from alembic.operations.ops import CreateTableOp, MigrateOperation, MigrationScript
from sqlalchemy import DefaultClause, MetaData, TextClause

from masthead.storage.metadata import add_postgresql_conditions
from masthead.storage.migrations.run import (
    VERSIONS,
    configuration,
    newest_revision,
    sqlite_connection,
    upgrade_sqlite,
)
from masthead.storage.postgres.row_security import TENANT_COLUMN


def render(metadata: MetaData, message: str) -> Path:
    with tempfile.TemporaryDirectory() as folder:
        written = _render_into(Path(folder), metadata, message)
        return Path(shutil.copy(written, VERSIONS))


def render_source(metadata: MetaData, message: str) -> str:
    with tempfile.TemporaryDirectory() as folder:
        return _render_into(Path(folder), metadata, message).read_text()


def _render_into(folder: Path, metadata: MetaData, message: str) -> Path:
    add_postgresql_conditions(metadata)
    newest = newest_revision()
    history = folder / "history.db"
    if newest is not None:
        upgrade_sqlite(history)
    config = configuration()
    config.set_main_option("version_locations", f"{VERSIONS}{os.pathsep}{folder}")
    with sqlite_connection(history) as connection:
        config.attributes.update(
            connection=connection,
            metadata=metadata,
            process_revision_directives=_add_shares,
            render_item=_render_item,
        )
        script: Any = command.revision(
            config,
            message,
            autogenerate=True,
            rev_id=f"{int(newest or 0) + 1:04d}",
            version_path=str(folder),
        )
    return Path(script.path)


class ShareOp(MigrateOperation):
    def __init__(self, table: str, tenant_column: str | None) -> None:
        self.table = table
        self.tenant_column = tenant_column


@renderers.dispatch_for(ShareOp)
def _render_share(_context: AutogenContext, operation: ShareOp) -> str:
    return f"share({operation.table!r}, {operation.tenant_column!r})"


def _render_item(kind: str, item: Any, _context: AutogenContext) -> str | Literal[False]:
    """Renders defaults as declared; Alembic would add SQLite's parentheses."""
    if kind == "server_default" and isinstance(item, DefaultClause):
        default = item.arg
        return f"sa.text({default.text!r})" if isinstance(default, TextClause) else repr(default)
    return False


def _add_shares(_context: Any, _revision: Any, directives: Iterable[MigrationScript]) -> None:
    for script in directives:
        assert script.upgrade_ops is not None
        created = [each for each in script.upgrade_ops.ops if isinstance(each, CreateTableOp)]
        script.upgrade_ops.ops.extend(_share_of(each) for each in created)


def _share_of(operation: CreateTableOp) -> ShareOp:
    columns = {getattr(column, "name", None) for column in operation.columns}
    return ShareOp(operation.table_name, TENANT_COLUMN if TENANT_COLUMN in columns else None)


if __name__ == "__main__":
    module, _, name = sys.argv[1].partition(":")
    sys.stdout.write(f"{render(getattr(import_module(module), name)(), sys.argv[2])}\n")
