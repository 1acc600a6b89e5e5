"""Constructs the data-protection services; called by the composition root."""

from __future__ import annotations

from functools import partial

import msgspec

from masthead.features.privacy.email_search import EmailSearch
from masthead.features.privacy.erasure import Erasure
from masthead.features.privacy.export import Exports
from masthead.features.privacy.jobs import PrivacyWork
from masthead.features.privacy.links import Links
from masthead.features.privacy.member_erasure import MemberErasure
from masthead.features.privacy.requests import ERASE_JOB, Requests
from masthead.features.privacy.rows import PersonTraces, TenantRows
from masthead.features.site.address import Sites
from masthead.storage.compaction import FullTextMerge, compact
from masthead.storage.sqlite.long_reads import long_reads
from masthead.web.services import WebServices


class Privacy(msgspec.Struct, frozen=True):
    links: Links
    requests: Requests
    exports: Exports
    erasure: Erasure
    work: PrivacyWork


def build_privacy(web: WebServices, sites: Sites) -> Privacy:
    settings, records, objects, mail = web.settings, web.records, web.objects, web.mail
    links = Links(settings.base_url)
    requests = Requests(records, mail, sites, links)
    exports = Exports(
        records, objects, requests, partial(long_reads, records.database, settings.database_url)
    )
    members = MemberErasure(
        records,
        mail,
        requests,
        exports,
        traces=PersonTraces(records.database, records.registry, erase_job=ERASE_JOB),
        email_search=EmailSearch(records.database, records.registry),
    )
    rows = TenantRows(records.database, erase_job=ERASE_JOB)
    erasure = Erasure(records, objects, mail, requests, rows=rows, members=members)
    make_compact = partial(compact, settings.database_url)
    words = FullTextMerge(records.database)
    work = PrivacyWork(
        records, objects, requests, exports, erasure=erasure, words=words, compact=make_compact
    )
    return Privacy(links, requests, exports, erasure, work)
