"""What several faces build from the parts."""

from __future__ import annotations

from masthead.comments.discussion import Discussions
from masthead.comments.limits import CommentLimit
from masthead.limits.rate_limiter import RateLimiter
from masthead.parts import Parts
from masthead.privacy.limits import RequestLimit


def discussions(parts: Parts) -> Discussions:
    return Discussions(parts.records, CommentLimit(parts.limit_store, parts.records.clock))


def privacy_limit(parts: Parts) -> RequestLimit:
    return RequestLimit(parts.limit_store, parts.records.clock)


def rate_limiter(parts: Parts) -> RateLimiter:
    return RateLimiter(parts.limit_store, parts.settings.rate_limits, parts.records.clock)
