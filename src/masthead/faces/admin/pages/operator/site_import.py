"""For operators: a site that was exported from another installation is uploaded and imported."""

from __future__ import annotations

from masthead.base.errors import Invalid, MastheadError
from masthead.base.languages.words import words
from masthead.faces.admin.endpoint import Answer, Page, Redirect
from masthead.faces.admin.environment import number
from masthead.faces.admin.forms import sentence_of
from masthead.faces.admin.pages.operator.tenants import ADDRESS, IMPORT, PLANS
from masthead.faces.admin.request import AdminRequest
from masthead.identity.limits.plans import Plan

NO_FILE = words("Choose a file.")


async def begin_import(request: AdminRequest) -> Answer:
    upload = next((each for each in request.files if each.field == "file" and each.size), None)
    if upload is None:
        return await import_form(request, file_problem=NO_FILE)
    form = request.form
    if form.get("plan") not in PLANS:
        return await import_form(request, plan_problem=words("Choose a plan."))
    try:
        slug = await request.services.site_imports.begin(
            request.caller,
            upload.chunks(),
            slug=form.get("slug", "").strip(),
            plan=Plan(form["plan"]),
            passphrase=form.get("passphrase", ""),
        )
    except Invalid as error:
        return await import_form(
            request, slug_problem=" ".join(map(sentence_of, error.problems.values()))
        )
    except MastheadError as error:
        return await import_form(request, file_problem=str(error))
    return Redirect(
        ADDRESS,
        words(
            "The site %(slug)s is being imported. It is listed here, and opens when it is ready.",
            slug=slug,
        ),
    )


async def import_form(
    request: AdminRequest,
    *,
    file_problem: str = "",
    slug_problem: str = "",
    plan_problem: str = "",
) -> Answer:
    largest = request.services.settings.max_import
    values = {
        "address": IMPORT,
        "back": ADDRESS,
        "slug": request.form.get("slug", ""),
        "plans": PLANS,
        "plan": request.form.get("plan", Plan.FREE),
        "plan_problem": plan_problem,
        "file_problem": file_problem,
        "slug_problem": slug_problem,
        "largest": f"{number(largest // 1_000_000)} MB",
    }
    status = 422 if file_problem or slug_problem or plan_problem else 200
    return Page("operator/import-site.html", words("Import a site"), values, status)
