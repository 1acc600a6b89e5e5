"""The services for accounts that can't sign in, for the faces and the worker."""

from __future__ import annotations

import msgspec

from masthead.features.password_reset.resets import PasswordResets
from masthead.features.password_reset.staff_codes import StaffCodes
from masthead.features.site.address import Sites
from masthead.web.services import WebServices


class PasswordServices(msgspec.Struct, frozen=True):
    resets: PasswordResets
    staff_codes: StaffCodes


def build_passwords(web: WebServices, sites: Sites) -> PasswordServices:
    resets = PasswordResets(web.records, web.accounts, web.throttle, web.mail, sites)
    return PasswordServices(resets, StaffCodes(web.accounts, web.codes, resets))
