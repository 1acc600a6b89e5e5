"""The services of single sign-on for the faces, built once for a process."""

from __future__ import annotations

import msgspec

from masthead.base.config.keyring import KeyRing
from masthead.engine.records.engine import Records
from masthead.features.single_sign_on.discovery import Discovery
from masthead.features.single_sign_on.members import MemberSignOns
from masthead.features.single_sign_on.pending import PendingSignOns
from masthead.features.single_sign_on.sign_ons import SignOns
from masthead.features.single_sign_on.staff import StaffSignOns
from masthead.identity.accounts import Accounts
from masthead.identity.limits.sign_in_throttle import LoginThrottle
from masthead.outside.outbound.client import OutboundClient


class SingleSignOn(msgspec.Struct, frozen=True):
    flow: SignOns
    staff: StaffSignOns
    members: MemberSignOns


def build_single_sign_on(
    records: Records,
    accounts: Accounts,
    throttle: LoginThrottle,
    *,
    keyring: KeyRing,
    outbound: OutboundClient,
) -> SingleSignOn:
    discovery = Discovery(outbound, records.clock)
    pending = PendingSignOns(keyring, throttle, records.clock)
    flow = SignOns(records, outbound, discovery, pending, throttle)
    return SingleSignOn(flow, StaffSignOns(records, accounts), MemberSignOns(records, accounts))
