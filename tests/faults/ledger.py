"""A ledger of the acknowledged requests, and of those without an answer.

A request that got no answer may have happened or not; afterwards it must be whole or not there. An
answer that no page documents is a fault by itself.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field


class Unacknowledged(Exception):
    """No answer, or one that says that it was not done."""


@dataclass
class Post:
    """A post as its one writer knows it. `None` as a title: not there, or in the trash."""

    title: str
    """The one it was created with, which no other post has."""
    id: str = ""
    acknowledged: str | None = None
    attempted: str | None = None
    is_settled: bool = False

    def possible(self) -> set[str | None]:
        return {self.acknowledged} if self.is_settled else {self.acknowledged, self.attempted}


@dataclass
class Ledger:
    posts: list[Post] = field(default_factory=list)
    files: set[str] = field(default_factory=set)
    deleted_files: set[str] = field(default_factory=set)
    doubtful_files: set[str] = field(default_factory=set)
    payers: set[str] = field(default_factory=set)
    joined: set[str] = field(default_factory=set)
    """Addresses of readers who were signed in by the provider."""
    lists: dict[str, list[str]] = field(default_factory=dict)
    """The addresses in each list of members, by the page of its import."""
    leavers: set[str] = field(default_factory=set)
    """Addresses of members who were added to be deleted at once, with all personal data."""
    erased: set[str] = field(default_factory=set)
    """Those whose deletion was acknowledged."""
    imported: set[str] = field(default_factory=set)
    """Titles of posts of other platforms, without events."""
    doubtful_imports: set[str] = field(default_factory=set)
    mailings: dict[str, str] = field(default_factory=dict)
    """With the posts that they send."""
    doubtful_mailings: set[str] = field(default_factory=set)
    """Posts that were to be mailed, without an answer."""
    exports: int = 0
    """Requests for personal data."""
    hung_up: int = 0
    """Uploads whose client went away in the middle."""
    views_asked: int = 0
    """Requests of pages."""
    views: int = 0
    """Those that were answered."""
    asked: int = 0
    acknowledged: int = 0
    bad_input: int = 0
    unanswered: int = 0
    """Requests whose connection ended without an answer."""
    latencies: list[tuple[float, float]] = field(default_factory=list)
    """When each answered request began, and its seconds."""
    answers: Counter[str] = field(default_factory=Counter)
    ways: Counter[str] = field(default_factory=Counter)
    """How many acknowledged requests each of the paths has made."""
    undocumented: list[str] = field(default_factory=list)
