"""The email about an export that was requested in the admin: it is ready, or it has failed.

Its link leads to a page of the admin that needs a sign-in, so the email by itself gives no access.
"""

from __future__ import annotations

from masthead.base import clock
from masthead.base.languages.moments import Moment
from masthead.base.languages.words import words
from masthead.engine.records.collection import Record
from masthead.faces.site_export.collection import READY
from masthead.faces.site_export.formats import NAMES, Format
from masthead.features.site.address import Site
from masthead.outside.mail.emails import write_email
from masthead.outside.mail.message import Mail

ADMIN_PATH = "/admin/tools/export"


def export_ended(site: Site, to: Record, export: Record) -> Mail:
    is_ready = export["state"] == READY
    values = {
        "subject": (
            words("The export of %(site)s is ready", site=site.name)
            if is_ready
            else words("The export of %(site)s has failed", site=site.name)
        ),
        "format": NAMES[Format(export["format"])],
        "is_ready": is_ready,
        "until": Moment(clock.from_text(export["expires_at"])) if is_ready else "",
        "error": export["error"],
        "link": f"{site.url}{ADMIN_PATH}",
    }
    return write_email("site_export", site.for_staff(to), to["email"], name=to["name"], **values)
