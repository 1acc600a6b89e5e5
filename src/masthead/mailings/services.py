"""The parts of mailings that the faces and the worker share."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
import sqlalchemy as sa

from masthead.config.keyring import KeyRing
from masthead.mail.outbox import Outbox
from masthead.mailings.actions import MailingActions, TestLetters
from masthead.mailings.digest_letters import DigestLetters
from masthead.mailings.recipients import MailingRecipients
from masthead.mailings.report_tokens import ReportTokens
from masthead.mailings.reports import MailReports
from masthead.mailings.senders import Senders
from masthead.mailings.sns import SnsMessages
from masthead.mailings.starting import Starting
from masthead.mailings.tracking import Tracking
from masthead.mailings.welcome import WelcomeEmails
from masthead.outbound.client import OutboundClient
from masthead.records.engine import Records


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
