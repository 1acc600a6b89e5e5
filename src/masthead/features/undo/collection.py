"""The records from which a change of many records is undone, stored for an hour."""

from __future__ import annotations

from masthead.engine.records.collection import Collection, Index
from masthead.engine.records.fields.base import Access
from masthead.engine.records.fields.documents import Json
from masthead.engine.records.fields.text import Text
from masthead.engine.records.fields.values import Date

undo_steps = Collection(
    "undo_steps",
    (
        Text(name="batch", max=15, write=Access.ENGINE, help="Which change of many it belongs to."),
        Text(name="account_id", max=15, write=Access.ENGINE, help="Who made the change."),
        Text(name="subject", max=50, write=Access.ENGINE, help="The changed collection."),
        Json(
            name="steps",
            write=Access.ENGINE,
            help="The changed records, with the old values of the changed fields.",
        ),
        Date(name="expires_at", write=Access.ENGINE),
    ),
    help="How to undo changes of many records in the admin. Each is deleted after an hour.",
    made_by="a change of many records in the admin",
    # Written like a log, so nothing counts them.
    counters=(),
    indexes=(
        Index(("batch",)),
        Index(("expires_at",), across_tenants=True, skip_empty="expires_at"),
    ),
)
