"""Ten small faults, each in another room of the service, and the tests that must find it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Fault:
    what: str
    file: str
    """Below `src/masthead/`."""
    old: str
    """Occurs once in the file."""
    new: str
    tests: tuple[str, ...]
    """Below `tests/`: those of the room, whichever of them finds it."""

    @property
    def path(self) -> str:
        return f"src/masthead/{self.file}"

    @property
    def selection(self) -> tuple[str, ...]:
        return tuple(f"tests/{each}" for each in self.tests)

    def planted_in(self, text: str) -> str:
        if (found := text.count(self.old)) != 1:
            raise LookupError(
                f"{self.path} has {found} times what the fault replaces ({self.what}). "
                f"Give it a text that occurs once: {self.old!r}"
            )
        return text.replace(self.old, self.new)


FAULTS = (
    Fault(
        "a list forgets the tenant",
        "engine/records/read/query.py",
        """\
        if shape.has_tenant:
            query = query.where(table.c.tenant_id ==""",
        """\
        if shape.has_tenant and shape.search:
            query = query.where(table.c.tenant_id ==""",
        ("faces/record_api/test_access.py",),
    ),
    Fault(
        "every member of the staff opens the settings of the site",
        "faces/admin/routes.py",
        """owners("/admin/settings", get=site.site_page, post=site.save_site),""",
        """at("/admin/settings", get=site.site_page, post=site.save_site),""",
        ("faces/admin/test_settings.py", "faces/admin/test_roles.py"),
    ),
    Fault(
        "a post is published without its event",
        "features/posts/collection.py",
        "    if was_published(change):\n",
        "    if was_published(change) and change.old is None:\n",
        ("engine/events", "engine/records/test_events.py"),
    ),
    Fault(
        "the last page names a next one",
        "web/v1/endpoint.py",
        "and page.page < page.total_pages:",
        "and page.page <= page.total_pages:",
        ("v1/test_posts.py", "v1/test_post_lists.py"),
    ),
    Fault(
        "guests get the cached pages of paying members",
        "faces/reader/endpoint.py",
        """f"site{mark_of(reader)} {variant} {request.path}\"""",
        """f"site{variant} {request.path}\"""",
        ("faces/reader/test_caching.py", "faces/reader/test_access.py"),
    ),
    Fault(
        "a mail shows the name of a comment's author unescaped",
        "outside/mail/templates/comment_posted.html",
        "author=author, title=title",
        "author=author | safe, title=title",
        ("outside/mail/test_message.py", "features/comments/test_emails.py"),
    ),
    Fault(
        "the signature of a payment event is not compared",
        "features/payments/signatures.py",
        "any(hmac.compare_digest(expected, each) for each in claim.digests)",
        "any(len(expected) == len(each) for each in claim.digests)",
        ("features/payments/test_signatures.py", "features/payments/test_receiver.py"),
    ),
    Fault(
        "calls are not counted for the hour",
        "identity/limits/sliding_window.py",
        "hour = _with_call(hour, now, MINUTE)",
        "hour = _slid(hour, now, MINUTE)",
        ("identity/limits/test_rate_limits.py",),
    ),
    Fault(
        "a job that fails is lost",
        "engine/jobs/runner.py",
        "await self._queue.postpone(job, lease, type(error).__name__)",
        "await self._queue.finish(job)",
        ("engine/jobs/test_runner.py",),
    ),
    Fault(
        "a total counts posts that are not due yet",
        "engine/records/derived/totals.py",
        "        if self.only_due:\n",
        "        if self.only_due and not has_tenant:\n",
        ("engine/records/test_totals.py", "faces/record_api/test_lists.py"),
    ),
)


@dataclass(frozen=True)
class Misspelt:
    """A field's name with a slip of the finger, which the type checker must find."""

    file: str
    old: str
    new: str

    @property
    def fault(self) -> Fault:
        return Fault(f"{self.old} is misspelt", self.file, self.old, self.new, ())


MISSPELT = (
    Misspelt(
        "faces/admin/pages/members/member.py", 'local(member["created"])', 'local(member["creatd"])'
    ),
    Misspelt(
        "faces/admin/pages/members/download.py", 'member["newsletter"]', 'member["newsleter"]'
    ),
    Misspelt(
        "faces/admin/pages/comments/listing.py", 'if comment["staff_id"]:', 'if comment["staff"]:'
    ),
    Misspelt("faces/admin/pages/home.py", 'post["scheduled_for"]', 'post["scheduled_at"]'),
    Misspelt("faces/admin/pages/media/library.py", 'item["draft_uses"]', 'item["drafts"]'),
    Misspelt(
        "faces/admin/pages/settings/domain.py",
        'request.site_record["wanted_domain"]',
        'request.site_record["wanted"]',
    ),
    Misspelt(
        "faces/reader/member/account.py", 'not member["password_hash"]', 'not member["password"]'
    ),
    Misspelt("faces/reader/pages/texts.py", 'post["seo_description"]', 'post["seo_text"]'),
    Misspelt(
        "faces/reader/cards.py",
        'local_time(request, post["published_at"])',
        'local_time(request, post["published"])',
    ),
    Misspelt("faces/reader/request.py", 'site_record["time_zone"]', 'site_record["timezone"]'),
)
