"""The one MetaData that every table hangs on, with names that both databases share."""

from __future__ import annotations

from sqlalchemy import MetaData

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s__%(column_0_N_name)s",
        "uq": "uq_%(table_name)s__%(column_0_N_name)s",
        "fk": "fk_%(table_name)s__%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
    }
)
