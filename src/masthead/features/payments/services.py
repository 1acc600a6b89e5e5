"""The services of payments for the faces."""

from __future__ import annotations

import msgspec

from masthead.features.payments.checkout import Checkouts
from masthead.features.payments.coupons import Coupons
from masthead.features.payments.inbox import Inbox
from masthead.features.payments.processor import Processor
from masthead.web.services import WebServices


class PaymentServices(msgspec.Struct, frozen=True):
    checkouts: Checkouts
    inbox: Inbox


def build_payments(web: WebServices) -> PaymentServices:
    processor = Processor(web.streams, web.settings.payment_api_url)
    checkouts = Checkouts(processor, web.windows, Coupons(processor, web.records))
    return PaymentServices(checkouts, Inbox(web.database))
