"""The parts of mailings that the faces and the worker share."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
import sqlalchemy as sa

from masthead.base.config.keyring import KeyRing
from masthead.engine.records.engine import Records
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
from masthead.outside.mail.outbox import Outbox
from masthead.outside.outbound.client import OutboundClient


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


def mailing_services(
    records: Records,
    tables: Mapping[str, sa.Table],
    outbox: Outbox,
    senders: Senders,
    *,
    outbound: OutboundClient,
    keyring: KeyRing,
) -> MailingServices:
    starting = Starting(records.database, tables)
    return MailingServices(
        starting,
        MailingActions(records.database, starting),
        TestLetters(records, outbox, senders),
        MailReports(records, tables),
        ReportTokens(records.database, records.clock),
        senders,
        MailingRecipients(records.database, tables),
        SnsMessages(outbound, records.clock),
        Tracking(records, tables, keyring),
        WelcomeEmails(records, outbox, senders, starting),
        DigestLetters(records, outbox, senders),
    )
