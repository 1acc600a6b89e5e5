"""The audit log: what staff and operators have changed, written in the transaction of the change.

It names the fields that changed, never their values, so no secret and no text ends up in it.
"""

from __future__ import annotations

from masthead.base.caller import Kind
from masthead.base.languages.words import staff_words
from masthead.engine.records.collection import Collection, Index
from masthead.engine.records.fields.base import Access
from masthead.engine.records.fields.documents import TextList
from masthead.engine.records.fields.text import Email, Text

CREATED, CHANGED, DELETED, RESTORED = "created", "changed", "deleted", "restored"
SIGNED_IN, OPENED, IMPERSONATED = "signed in", "opened", "impersonated"
EXPORTED, DOWNLOADED_EXPORT = "exported a member", "downloaded an export"
PLANNED_ERASURE, CANCELLED_ERASURE = "planned an erasure", "cancelled an erasure"
DOWNLOADED_MEMBERS = "downloaded members"
EXPORTED_SITE, DOWNLOADED_SITE = "exported the site", "downloaded the site"
PLANNED_DELETION, CANCELLED_DELETION = "planned a deletion", "cancelled a deletion"
EMPTIED_TRASH = "emptied the trash"
RETRIED_JOB, DISCARDED_JOB = "ran a job again", "discarded a job"
ADDED_FACTOR, REMOVED_FACTOR = "added a factor", "removed a factor"
MADE_RECOVERY_CODES, RESET_FACTORS = "made recovery codes", "reset factors"
ENDED_SIGN_INS, FAILED_SIGN_IN = "ended sign-ins", "failed to sign in"
CONNECTED, DISCONNECTED = "connected a sign-in", "removed a sign-in"
REPLAYED_EVENTS = "replayed events"
MAX_LABEL = 255

audit_log = Collection(
    "audit_log",
    (
        Text(name="account_id", max=15, write=Access.ENGINE),
        Email(name="email", personal=True, write=Access.ENGINE, help="The account's at that time."),
        Text(
            name="role",
            max=20,
            write=Access.ENGINE,
            help=f"The account's at that time. `{Kind.SHELL}`: no account, but a command on "
            "the machine itself.",
        ),
        Text(
            name="address",
            max=64,
            personal=True,
            write=Access.ENGINE,
            help="The network address that the call came from.",
        ),
        Text(
            name="action",
            max=20,
            write=Access.ENGINE,
            help=f"`{CREATED}`, `{CHANGED}`, `{DELETED}`, `{RESTORED}`, `{SIGNED_IN}`, "
            f"`{OPENED}` where an operator has come to the site to work in it, `{IMPERSONATED}` "
            "where somebody got a session of another account; what was done with members' data: "
            f"`{EXPORTED}`, `{DOWNLOADED_EXPORT}`, `{PLANNED_ERASURE}`, "
            f"`{CANCELLED_ERASURE}`, `{DOWNLOADED_MEMBERS}`; with the whole site: "
            f"`{EXPORTED_SITE}`, `{DOWNLOADED_SITE}`, `{PLANNED_DELETION}`, "
            f"`{CANCELLED_DELETION}`, `{EMPTIED_TRASH}`; with work that had failed: "
            f"`{RETRIED_JOB}`, `{DISCARDED_JOB}`; with the second factors of an account: "
            f"`{ADDED_FACTOR}`, `{REMOVED_FACTOR}`, `{MADE_RECOVERY_CODES}`, `{RESET_FACTORS}`; "
            f"with its ways to sign in: `{CONNECTED}`, `{DISCONNECTED}`; `{ENDED_SIGN_INS}` where "
            f"an owner has signed someone out, `{FAILED_SIGN_IN}` where a password, a code or a "
            f"passkey was wrong; with a webhook: `{REPLAYED_EVENTS}`.",
        ),
        Text(name="subject", max=50, write=Access.ENGINE, help="The collection."),
        Text(name="record_id", max=15, write=Access.ENGINE),
        Text(
            name="label",
            max=MAX_LABEL,
            write=Access.ENGINE,
            help="The name of the record, the site or the kind of work. Empty for records about "
            "readers. An erasure removes the person's address from it.",
        ),
        TextList(name="changed", write=Access.ENGINE, help="The names of the changed fields."),
        Text(name="status", max=50, write=Access.ENGINE, help="The new status, if it changed."),
    ),
    help="What staff and operators have done, by whom, when and from where.",
    platform_records=True,
    owner_may_delete=False,
    made_by="the change that it describes",
    # So that a sweep need not count: lists of it go on by cursor.
    counters=(),
    indexes=(
        Index(("account_id", "created", "id")),
        Index(("subject", "created", "id")),
        Index(("created", "id"), across_tenants=True),
    ),
    called=staff_words("the activity log"),
)
