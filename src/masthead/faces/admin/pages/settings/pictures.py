"""The site's logo and its icon: uploaded into the media library and chosen for the site at once."""

from __future__ import annotations

from masthead.base.errors import Invalid, NotFound, Problem, TooLarge
from masthead.base.languages.words import words
from masthead.faces.admin.endpoint import Answer, Redirect
from masthead.faces.admin.forms import problem_of
from masthead.faces.admin.pages.settings.design import design_page
from masthead.faces.admin.pages.settings.subnav import DESIGN
from masthead.faces.admin.request import AdminRequest
from masthead.features.media.collection import media
from masthead.features.media.path import media_path
from masthead.features.media.sniff import sniff
from masthead.features.media.upload import store_upload
from masthead.features.site.collection import site_settings

PICTURES = {"logo": "site_logo", "logo-dark": "site_logo_dark", "favicon": "site_favicon"}
"""Fields by the name in the address."""
SENTENCES = {
    "logo": words("The site has a new logo."),
    "logo-dark": words("The site has a new logo for dark pages."),
    "favicon": words("The site has a new icon."),
}
_SHOWN = frozenset(
    {"image/png", "image/jpeg", "image/gif", "image/webp", "image/avif", "image/svg+xml"}
)
_ICONS = _SHOWN | {"image/x-icon"}


async def save_picture(request: AdminRequest, which: str) -> Answer:
    """Uploads the picture of the form; the button `remove` takes the one that the site has away."""
    if which not in PICTURES:
        raise NotFound
    field = PICTURES[which]
    if "remove" in request.form:
        await _set(request, field, "")
        return Redirect(
            f"{DESIGN}#pictures", words("Removed. The file is still in the media library.")
        )
    try:
        path = await _store_picture(request, which)
    except (Invalid, TooLarge) as error:
        request.problems = {field: problem_of(error)}
        return await design_page(request)
    await _set(request, field, path)
    return Redirect(f"{DESIGN}#pictures", SENTENCES[which])


async def _store_picture(request: AdminRequest, which: str) -> str:
    """The path of the stored picture. Raises Invalid for a file that browsers don't show."""
    upload = next((each for each in request.files if each.size), None)
    if upload is None:
        raise Invalid({"file": Problem("validation_required", words("Choose a file first."))})
    kinds = _ICONS if which == "favicon" else _SHOWN
    if sniff(upload.head, upload.filename) not in kinds:
        message = words(
            "Browsers can't show this file as a picture. Choose a PNG, JPEG, WebP, AVIF or SVG."
        )
        raise Invalid({"file": Problem("validation_invalid_mime_type", message)})
    upload.field = "file"
    alt = {"alt": request.site_name}
    record = await store_upload(request.services, request.caller, media, alt, uploads=[upload])
    return media_path(record["id"], record["file"])


async def _set(request: AdminRequest, field: str, path: str) -> None:
    record_id = request.site_record["id"]
    await request.records.update(request.caller, site_settings, record_id, {field: path})
