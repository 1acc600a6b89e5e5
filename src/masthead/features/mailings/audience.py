"""Who gets a mailing, as a condition on the table of members."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa

from masthead.content.texts.languages import editions_of, language_of
from masthead.engine.records.collection import Record
from masthead.features.mailings.collection import EVERYONE, FREE, PAID
from masthead.features.members.collection import MAIL_OK
from masthead.storage import dialects
from masthead.storage.json_values import json_any


def is_reader(members: Any, slug: Any) -> sa.ColumnElement[bool]:
    """Still wants the newsletter, and emails reach the address. `members` are the table's
    columns."""
    is_off = json_any(members.newsletters_off, lambda item: item == slug)
    return sa.and_(
        dialects.without_index(members.newsletter) == sa.true(),
        members.status != "cancelled",
        dialects.without_index(members.mail_state) == MAIL_OK,
        sa.not_(is_off),
    )


def is_welcome(members: Any, history: Any, tier: Any) -> sa.ColumnElement[bool]:
    """May get the welcome email of a tier: also who wanted no newsletters when they joined, but
    nobody who has turned them off since. `members` and `history` are the tables' columns."""
    has_left = sa.exists().where(
        history.tenant_id == members.tenant_id,
        history.member_id == members.id,
        history.what == "newsletter",
        history.now == "off",
    )
    return sa.and_(
        dialects.without_index(members.verified) == sa.true(),
        members.status != "cancelled",
        dialects.without_index(members.mail_state) == MAIL_OK,
        dialects.without_index(members.tier) == tier,
        sa.or_(dialects.without_index(members.newsletter) == sa.true(), sa.not_(has_left)),
    )


def is_in_audience(members: Any, mailing: Record) -> sa.ColumnElement[bool]:
    """Was chosen when the mailing was made."""
    conditions: list[Any] = []
    if mailing["audience"] != EVERYONE:
        tier = {FREE: "free", PAID: "paid"}[mailing["audience"]]
        # Members are read in the order of their ids, not by an index on a part of them.
        conditions.append(dialects.without_index(members.tier) == tier)
    if mailing["labels"]:
        wanted: Any = sa.bindparam("labels", required=True)
        conditions.append(json_any(members.labels, lambda item: dialects.any_of(item, wanted)))
    if mailing.get("language"):
        conditions.append(members.language == sa.bindparam("language", required=True))
    if mailing.get("without_languages"):
        others: Any = sa.bindparam("without_languages", required=True)
        conditions.append(sa.not_(dialects.any_of(members.language, others)))
    return sa.and_(sa.true(), *conditions)


def whose_language(post: Record, settings: Record) -> dict[str, Any]:
    """The values of a mailing of the post that say who gets it on a site with several languages. A
    member whose language the site does not have reads its own."""
    own, *others = editions_of(settings)
    if post["edition"] != own:
        return {"language": language_of(post, settings)}
    return {"without_languages": [editions_of(settings)[each] for each in others]}
