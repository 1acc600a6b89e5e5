"""Who may comment on a site, and whose comments wait for approval, as its settings say."""

from __future__ import annotations

from typing import Final

from masthead.base.caller import Audience
from masthead.base.errors import Forbidden
from masthead.base.languages.words import words
from masthead.features.comments.text import count_links
from masthead.features.site.record_view import SettingsRecord

COMMENTERS: Final = {
    "everyone": Audience.GUEST,
    "members": Audience.FREE,
    "paid": Audience.PAID,
}
_WAIT: Final = {
    "none": Audience.GUEST,
    "guests": Audience.FREE,
    "all": Audience.STAFF,
}
"""From which audience on a comment appears at once."""
MAX_LINKS: Final = 2
"""A comment with more of them waits, unless it is the staff's. A refusal would teach spammers the
limit."""


def may_comment(comments_by: str, audience: Audience) -> bool:
    return audience >= COMMENTERS[comments_by]


def check_may_comment(settings: SettingsRecord, audience: Audience) -> None:
    if may_comment(settings["comments_by"], audience):
        return
    if settings["comments_by"] == "paid":
        raise Forbidden(words("Only paid members can comment here."))
    raise Forbidden(words("Only members can comment here. Sign in and try again."))


def waits(settings: SettingsRecord, audience: Audience, body: str) -> bool:
    if waits_for_approval(settings["comments_moderation"], audience):
        return True
    return audience < Audience.STAFF and count_links(body) > MAX_LINKS


def waits_for_approval(moderation: str, audience: Audience) -> bool:
    """Whether this audience's comments wait, whatever they say."""
    return audience < _WAIT[moderation]
