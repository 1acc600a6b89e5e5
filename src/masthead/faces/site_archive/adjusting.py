"""Differences of a moved site, besides ids and addresses.

An import sends nothing and starts nothing that the old installation may also be doing: mailings
under way are paused, imports and exports under way have failed, webhooks are paused unless their
secrets came along, and so are sign-in providers. Sessions end. A domain has to be proven again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from typing import Final

import msgspec

from masthead.base import clock
from masthead.base.languages.words import staff_marked
from masthead.engine.records.accounts import new_token_key
from masthead.engine.records.changes import Change, Later
from masthead.engine.records.collection import Collection, Record
from masthead.faces.importers import collection as imports
from masthead.faces.importers.collection import import_runs
from masthead.faces.importers.member_csv import collection as csv_imports
from masthead.faces.importers.member_csv.collection import member_imports
from masthead.features.commerce.collection import gift_cards
from masthead.features.mailings.collection import PAUSED, SCHEDULED, SENDING, mailings
from masthead.features.media.collection import COPIES_JOB, is_copied, media
from masthead.features.members.collection import blog_members
from masthead.features.members.digest_times import next_digest
from masthead.features.members.newsletters import newsletters
from masthead.features.posts.collection import posts
from masthead.features.posts.jobs import PUBLISH_JOB
from masthead.features.posts.site import tag_slug
from masthead.features.posts.tag_records import tags
from masthead.features.posts.tags import CHANGE_JOB, tag_changes
from masthead.features.privacy.collection import gdpr_requests
from masthead.features.privacy.requests import ERASE_JOB
from masthead.features.privacy.validation import TENANT
from masthead.features.single_sign_on.collection import sign_in_providers
from masthead.features.site.collection import site_settings
from masthead.features.webhooks.collection import webhook_subscriptions
from masthead.features.webhooks.signing import new_secret
from masthead.identity.factor_fields import NO_FACTORS, has_second_factor
from masthead.identity.limits.plans import Plan
from masthead.identity.tenants import OWN_LIMITS, superusers, tenants
from masthead.outside.mail.collection import sending_domains

MOVED: Final = staff_marked(
    "The site was moved to another installation. Check what was sent, then resume it."
)
INTERRUPTED: Final = staff_marked("The site was moved before this had ended.")


class Circumstances(msgspec.Struct, frozen=True):
    now: datetime
    time_zone: str
    slug: str
    plan: Plan = Plan.FREE

    @property
    def text(self) -> str:
        return clock.to_text(self.now)


Adjust = Callable[[Record, Circumstances], Record | None]
"""Returns None for a record that does not move."""


def adjust(collection: Collection, record: Record, given: Circumstances) -> Record | None:
    change = _RECORDS.get(collection.name)
    return change(record, given) if change else record


def later_of(collection: Collection, record: Record) -> Iterator[Later]:
    """The jobs that the record waits for, which do not move."""
    if collection.name == posts.name:
        jobs = collection.jobs(Change(None, record))
        yield from (each for each in jobs if each.kind == PUBLISH_JOB)
    elif collection.name == media.name and is_copied(record) and not record["picture_sizes"]:
        yield Later(COPIES_JOB, {"id": record["id"]})
    elif collection.name == tag_changes.name:
        yield Later(CHANGE_JOB, {"id": record["id"]})
    elif collection.name == gift_cards.name and not record["sent_at"]:
        yield from collection.jobs(Change(None, record))
    elif collection.name == gdpr_requests.name and _is_erasure(record):
        yield Later(ERASE_JOB, {"request_id": record["id"]}, run_at=record["grace_until"])


def _is_erasure(request: Record) -> bool:
    is_open = request["type"] == "delete" and request["status"] == "queued"
    return bool(is_open and request["confirmed_at"])


def _site(site: Record, given: Circumstances) -> Record:
    """Its plan and limits are those that the operator gives it, not what a file says."""
    return {**site, **dict.fromkeys(OWN_LIMITS), "plan": given.plan.value}


def _account(account: Record, _: Circumstances) -> Record:
    account = {**account, "token_key": new_token_key()}
    # Somebody may have used all recovery codes; the step stays as long as there is an app.
    had_factor = account.get("recovery_hashes") or account.get("totp_step")
    if had_factor and not has_second_factor(account):
        # It stayed behind. A password alone must not open the account.
        return {**account, **NO_FACTORS, "password_hash": ""}
    return account


def _settings(settings: Record, given: Circumstances) -> Record:
    domain = settings["custom_domain"] or settings["wanted_domain"]
    return {
        **settings,
        "slug": given.slug,
        "custom_domain": "",
        "wanted_domain": domain,
        "domain_check_at": "" if settings["custom_domain"] else settings["domain_check_at"],
        "domain_missing_since": "",
        # A deletion of the site is that of the old one.
        "read_only_mode": settings["read_only_mode"] and not settings["deleted_at"],
        "deleted_at": "",
        # The operator of this installation allows it, or not. The code itself waits.
        "code_allowed": False,
    }


def _tag(tag: Record, _: Circumstances) -> Record:
    # That of an archive from before tags had records has none.
    return {**tag, "slug": tag_slug(tag["name"])}


def _webhook(webhook: Record, given: Circumstances) -> Record:
    if webhook["secret"]:
        return webhook
    disabled_at = webhook["disabled_at"] or given.text
    # Their values stayed behind.
    names: Record = {"header_names": [], "previous_secret_until": ""}
    return {**webhook, **names, "secret": new_secret(), "paused": True, "disabled_at": disabled_at}


def _provider(provider: Record, _: Circumstances) -> Record:
    # Nobody can sign in with it until an owner has entered its secret again.
    return provider if provider["client_secret"] else {**provider, "enabled": False}


def _sending_domain(domain: Record, _: Circumstances) -> Record | None:
    # Without its key it is made again, with another one, when staff opens its page.
    return domain if domain["private_key"] else None


def _mailing(mailing: Record, _: Circumstances) -> Record:
    if mailing["status"] not in (SCHEDULED, SENDING):
        return mailing
    return {**mailing, "status": PAUSED, "reason": MOVED}


def _newsletter(newsletter: Record, given: Circumstances) -> Record:
    due = newsletter["digest_at"]
    if not due or due > given.text:
        return newsletter
    following = next_digest(newsletter, given.now, given.time_zone)
    return {**newsletter, "digest_at": clock.to_text(following)}


def _import_run(run: Record, given: Circumstances) -> Record:
    if run["state"] not in (imports.QUEUED, imports.RUNNING):
        return run
    ended = {"state": imports.FAILED, "error": INTERRUPTED, "finished_at": given.text}
    return {**run, **ended}


def _member_import(upload: Record, _: Circumstances) -> Record | None:
    """Only the reports: a file of addresses is deleted with its import."""
    is_over = upload["status"] in (csv_imports.DONE, csv_imports.FAILED)
    return {**upload, "object_key": ""} if is_over else None


def _request(request: Record, _: Circumstances) -> Record | None:
    if request["type"] == "export" and request["status"] in ("queued", "ready"):
        # The file stays where it is.
        return {**request, "status": "expired"}
    is_deletion = request["subject"] == TENANT and request["type"] == "delete"
    return None if is_deletion and request["status"] == "queued" else request


_RECORDS: Final[Mapping[str, Adjust]] = {
    tenants.name: _site,
    superusers.name: _account,
    blog_members.name: _account,
    site_settings.name: _settings,
    tags.name: _tag,
    webhook_subscriptions.name: _webhook,
    sign_in_providers.name: _provider,
    sending_domains.name: _sending_domain,
    mailings.name: _mailing,
    newsletters.name: _newsletter,
    import_runs.name: _import_run,
    member_imports.name: _member_import,
    gdpr_requests.name: _request,
}
