"""The services of single sign-on for the faces, built once for a process."""

from __future__ import annotations

import msgspec

from masthead.features.single_sign_on.discovery import Discovery
from masthead.features.single_sign_on.members import MemberSignOns
from masthead.features.single_sign_on.pending import PendingSignOns
from masthead.features.single_sign_on.sign_ons import SignOns
from masthead.features.single_sign_on.staff import StaffSignOns
from masthead.web.services import WebServices


class SingleSignOn(msgspec.Struct, frozen=True):
    flow: SignOns
    staff: StaffSignOns
    members: MemberSignOns


def build_single_sign_on(web: WebServices) -> SingleSignOn:
    records, accounts, throttle = web.records, web.accounts, web.throttle
    discovery = Discovery(web.outbound, records.clock)
    pending = PendingSignOns(web.keyring, throttle, records.clock)
    flow = SignOns(records, web.outbound, discovery, pending, throttle)
    return SingleSignOn(flow, StaffSignOns(records, accounts), MemberSignOns(records, accounts))
