"""`GET /admin/live`: tells an open page of the admin that what it shows has changed.

It is the record store's realtime with the session of the admin: the same log, the same rules, the
same limits. A message names what has changed and the id of the record. What the page then shows, it
asks for itself.
"""

from __future__ import annotations

from contextlib import ExitStack

from masthead.base import ids
from masthead.base.errors import BadRequest
from masthead.base.languages.words import words
from masthead.faces.admin.endpoint import AdminPages
from masthead.faces.importers.collection import import_runs
from masthead.faces.importers.member_csv.collection import member_imports
from masthead.faces.record_api.realtime.topics import EVERY_RECORD, Options, Subscription
from masthead.faces.record_api.realtime_calls import open_connection, stream_to
from masthead.features.comments.collection import comments
from masthead.features.mailings.collection import mailings
from masthead.web.answers import Stream
from masthead.web.dispatch import Action, Actions
from masthead.web.policy import Limit, Policy, WhileSuspended, Who
from masthead.web.query_string import parse_query_string
from masthead.web.request import Request

ADDRESS = "/admin/live"
TOPICS = {each.name: each for each in (comments, import_runs, member_imports, mailings)}
"""The collections that pages listen to. Deliveries of webhooks are not in the log of changes."""
MOST = 10
_ONLY_ID = Options(fields="id")


def live(pages: AdminPages) -> Actions:
    async def answer(request: Request) -> Stream:
        return await _open(pages, request)

    policy = Policy(
        who=Who.STAFF, while_suspended=WhileSuspended.OPERATORS, limit=Limit.CONNECTIONS
    )
    return {"GET": Action(answer, policy)}


async def _open(pages: AdminPages, request: Request) -> Stream:
    wanted = _wanted(request)
    hub, caller, site = pages.services.realtime, request.caller, request.site
    assert caller is not None
    assert site is not None
    token = await pages.services.staff.callers.token_of(request)
    connection, facts = await open_connection(hub, request, site.id)
    with ExitStack() as on_failure:
        on_failure.callback(hub.close, connection)
        await hub.listen(connection, wanted, caller, token)
        on_failure.pop_all()
    return stream_to(hub, connection, facts, request.receive)


def _wanted(request: Request) -> list[Subscription]:
    """The subscriptions in `?topics=comments,mailings/<id>`. Messages have the names that the page
    gives."""
    given = parse_query_string(request.scope["query_string"], "utf-8").get("topics", "")
    names = list(dict.fromkeys(given.split(",")))
    if len(names) > MOST:
        raise BadRequest(words("A page listens to at most %(most)s topics.", most=MOST))
    return [_subscription(name) for name in names]


def _subscription(name: str) -> Subscription:
    collection_name, _, record_id = name.partition("/")
    collection = TOPICS.get(collection_name)
    if collection is None or (record_id and not ids.is_id(record_id)):
        raise BadRequest(words("Name what the page listens to, such as `comments`."))
    return Subscription(name, collection, record_id or EVERY_RECORD, _ONLY_ID)
