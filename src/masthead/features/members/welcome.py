"""When a member is welcomed: free members once their address is confirmed, paid members when they
first pay. The email itself is the job of `features/mailings/welcome.py`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from masthead.engine.records.changes import Change, Relisted, Save
from masthead.engine.records.collection import Record
from masthead.engine.records.write.unit import Unit

FREE, PAID = "free", "paid"
KINDS: Final = (FREE, PAID)
WELCOME_EMAILS: Final = "welcome_emails"
"""The collection of their texts."""
SEND_WELCOME: Final = "welcome_emails.send"
"""The job that sends one."""


def stamp_welcome(save: Save) -> Mapping[str, Any]:
    """The moment comes once for each tier, whether or not the site sends an email then. So nobody
    is welcomed years later because they pay again."""
    old, new = save.old, save.new
    tier = new["tier"]
    if not new["verified"] or new["status"] == "cancelled" or tier in new["welcomed"]:
        return {}
    is_confirmed_now = old is None or not old["verified"]
    pays_now = tier == PAID and (old is None or old["tier"] != PAID)
    return {"welcomed": [*new["welcomed"], tier]} if is_confirmed_now or pays_now else {}


def welcomed_elsewhere(tier: str) -> dict[str, Any]:
    """Marks a member whose tier is imported as welcomed: they joined, or paid, somewhere else.
    Marks nothing for an import that leaves the tier."""
    return {"welcomed": [FREE, PAID] if tier == PAID else [FREE]} if tier else {}


class Due(NamedTuple):
    member_id: str
    kind: str


async def queue_welcomes(unit: Unit, due: Sequence[Due]) -> None:
    """In the transaction of the change, so that no crash loses one."""
    if not unit.emits_events:
        # An import, or a restored site.
        return
    texts = unit.registry[WELCOME_EMAILS]
    for each in dict.fromkeys(due):
        if await unit.find(texts, {"kind": each.kind, "is_on": True}, limit=1):
            await unit.enqueue(SEND_WELCOME, each._asdict())


class Welcome:
    """Follows the members."""

    settle = staticmethod(queue_welcomes)

    @staticmethod
    def note(change: Change, _: Relisted) -> Iterator[Due]:
        new = change.new
        if new is None or not new["verified"] or new["tier"] not in _gained(change.old, new):
            return
        yield Due(new["id"], new["tier"])


def _gained(old: Record | None, new: Record) -> set[str]:
    return set(new["welcomed"]) - set(old["welcomed"] if old else ())
