"""The parts of mailings that the faces and the worker share."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
import sqlalchemy as sa

from masthead.features.mailings.actions import MailingActions, TestLetters
from masthead.features.mailings.digest_letters import DigestLetters
from masthead.features.mailings.recipients import MailingRecipients
from masthead.features.mailings.report_tokens import ReportTokens
from masthead.features.mailings.reports import MailReports
from masthead.features.mailings.senders import Senders
from masthead.features.mailings.sns import SnsMessages
from masthead.features.mailings.starting import Starting
from masthead.features.mailings.tracking import Tracking
from masthead.features.mailings.welcome import WelcomeEmails
from masthead.features.site.address import Sites
from masthead.web.services import WebServices


class MailingServices(msgspec.Struct, frozen=True):
    starting: Starting
    actions: MailingActions
    test_letters: TestLetters
    reports: MailReports
    report_tokens: ReportTokens
    senders: Senders
    recipients: MailingRecipients
    sns: SnsMessages
    tracking: Tracking
    welcome: WelcomeEmails
    digest_letters: DigestLetters


def build_mailings(
    web: WebServices, tables: Mapping[str, sa.Table], sites: Sites
) -> MailingServices:
    records, outbox = web.records, web.mail
    senders = Senders(records, sites, web.signing_keys, web.settings)
    starting = Starting(records.database, tables)
    return MailingServices(
        starting,
        MailingActions(records.database, starting),
        TestLetters(records, outbox, senders),
        MailReports(records, tables),
        ReportTokens(records.database, records.clock),
        senders,
        MailingRecipients(records.database, tables),
        SnsMessages(web.outbound, records.clock),
        Tracking(records, tables, web.keyring),
        WelcomeEmails(records, outbox, senders, starting),
        DigestLetters(records, outbox, senders),
    )
