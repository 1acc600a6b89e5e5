"""Columns of the internal tables, which are declared without a collection."""

from __future__ import annotations

from sqlalchemy import Column, ForeignKeyConstraint

from masthead.storage import dialects


def texts(*names: str) -> list[Column[str]]:
    return [Column(name, dialects.Text(), nullable=False) for name in names]


def integers(*names: str) -> list[Column[int]]:
    return [Column(name, dialects.Integer(), nullable=False) for name in names]


def belongs_to(table: str, column: str, key: str = "id") -> ForeignKeyConstraint:
    """Rows go with the record of their tenant that `column` names."""
    return ForeignKeyConstraint(
        ["tenant_id", column], [f"{table}.tenant_id", f"{table}.{key}"], ondelete="CASCADE"
    )
