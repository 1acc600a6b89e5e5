"""An export is uploaded: by a form, or by a script that shows how much is sent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from masthead.base.errors import Invalid, Problem
from masthead.base.languages.words import words
from masthead.engine.records.fields.base import REQUIRED
from masthead.faces.admin.calls import JsonAnswer
from masthead.faces.admin.endpoint import Answer, Page, Redirect
from masthead.faces.admin.environment import number
from masthead.faces.admin.forms import sentence_of
from masthead.faces.admin.pages.imports.options import NEW as NEW_OPTIONS
from masthead.faces.admin.pages.imports.options import chosen_options, options_form, options_of
from masthead.faces.admin.pages.imports.runs import ADDRESS, NEW, PLATFORMS
from masthead.faces.admin.request import AdminRequest
from masthead.faces.importers.source import BadFile
from masthead.faces.importers.tasks.actions import upload_export
from masthead.web.multipart import Form, Upload

GUESS = ""
CHOICES = {GUESS: words("Find out"), **PLATFORMS}


async def new_form(request: AdminRequest) -> Answer:
    values = {"platform": GUESS, "options": options_form(NEW_OPTIONS)}
    return _shown(request, values)


async def upload_form(request: AdminRequest) -> Answer:
    """Without script."""
    try:
        url = await _store_export(request, request.form, request.files)
    except Invalid as error:
        return _refused(request, error)
    return Redirect(url)


async def upload_call(request: AdminRequest, form: Form) -> JsonAnswer:
    return JsonAnswer({"url": await _store_export(request, dict(form.fields), form.files)})


async def _store_export(
    request: AdminRequest, form: Mapping[str, str], files: Sequence[Upload]
) -> str:
    """The address of the import. Raises `Invalid` for what is no export."""
    upload = next((each for each in files if each.field == "file"), None)
    if upload is None:
        raise Invalid({"file": REQUIRED})
    options = options_of(form)
    platform = form.get("platform", GUESS)
    platform = platform if platform in PLATFORMS else GUESS
    services = request.services
    try:
        run = await upload_export(services, request.caller, upload, platform, options=options)
    except BadFile as error:
        raise Invalid({"file": Problem("validation_not_an_export", str(error))}) from error
    return f"{ADDRESS}/{run['id']}"


def _refused(request: AdminRequest, error: Invalid) -> Page:
    """With what was chosen; a browser does not send the file again by itself."""
    form = request.form
    problems = {name: sentence_of(problem) for name, problem in error.problems.items()}
    options = options_form(
        chosen_options(form),
        site_url=form.get("site_url", ""),
        error=problems.get("site_url", ""),
    )
    values = {"platform": form.get("platform", GUESS), "options": options}
    return _shown(request, values, problems.get("file", ""), status=422)


def _shown(
    request: AdminRequest, values: dict[str, object], problem: str = "", status: int = 200
) -> Page:
    largest = request.services.settings.max_import
    more = {
        "address": NEW,
        "back": ADDRESS,
        "choices": CHOICES,
        "problem": problem,
        "largest": f"{number(largest // 1_000_000)} MB",
    }
    return Page(
        "imports/new.html", words("Import from another platform"), {**values, **more}, status
    )
