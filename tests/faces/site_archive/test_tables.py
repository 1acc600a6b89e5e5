"""No table of a site is forgotten: it moves, or there is a reason why it does not."""

from __future__ import annotations

import pytest
import sqlalchemy as sa

from masthead.faces.site_archive.tables import LEFT_OUT, MOVED, ForgottenTable, moved_tables
from masthead.service.schema import complete_metadata, registry


def test_every_table_with_a_tenant_moves_or_has_a_reason() -> None:
    owned = {name for name, table in complete_metadata().tables.items() if "tenant_id" in table.c}
    moved = {each.name for each in moved_tables(registry)}
    assert moved | set(LEFT_OUT) == owned
    assert not moved & set(LEFT_OUT)
    assert all(LEFT_OUT.values())


def test_the_lists_name_tables_and_columns_that_exist() -> None:
    assert set(LEFT_OUT) <= set(complete_metadata().tables)
    for name, columns in MOVED.items():
        assert set(columns) <= set(complete_metadata().tables[name].c.keys()), name


def test_a_new_table_stops_the_export() -> None:
    new = sa.Table("novelties", complete_metadata(), sa.Column("tenant_id", sa.Text()))
    try:
        with pytest.raises(ForgottenTable, match="novelties"):
            moved_tables(registry)
    finally:
        complete_metadata().remove(new)
