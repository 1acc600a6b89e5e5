"""The addresses of imports and exports."""

from __future__ import annotations

from functools import partial

from masthead.faces.admin.calls import upload_call
from masthead.faces.admin.endpoint import AdminPages
from masthead.faces.admin.pages import exports
from masthead.faces.admin.pages.imports import files as import_files
from masthead.faces.admin.pages.imports import run as import_run
from masthead.faces.admin.pages.imports import upload as import_upload
from masthead.faces.admin.pages.imports.runs import ImportList
from masthead.faces.admin.pages.imports.samples import sample_page
from masthead.faces.admin.pages.members import importing as members_import
from masthead.faces.importers.collection import IMPORT, PICTURES, UNDO
from masthead.web.dispatch import Route
from masthead.web.policy import Who, largest_import


def import_routes(pages: AdminPages) -> list[Route]:
    return [*_exports(pages), *_member_imports(pages), *_imports(pages)]


def _exports(pages: AdminPages) -> list[Route]:
    """Also while the site is suspended: an owner may take the data along."""
    at = partial(pages.at, who=Who.OWNER, while_suspended=True)
    one = f"{exports.ADDRESS}/{{id}}"
    return [
        at(exports.ADDRESS, get=exports.exports_page, post=exports.begin, asks_again=True),
        at(f"{one}/download", get=exports.download, asks_again=True),
        at(f"{one}/remove", post=exports.remove),
    ]


def _member_imports(pages: AdminPages) -> list[Route]:
    at, one = partial(pages.at, who=Who.OWNER), f"{members_import.ADDRESS}/{{id}}"
    return [
        at(
            members_import.ADDRESS,
            get=members_import.upload_form,
            post=members_import.upload,
            files=1,
        ),
        at(one, get=members_import.import_page, post=members_import.choose),
        at(f"{one}/discard", post=members_import.discard),
        at(f"{one}/errors.csv", get=members_import.download_errors),
    ]


def _imports(pages: AdminPages) -> list[Route]:
    at, address = partial(pages.at, who=Who.OWNER), "/admin/tools/import"
    one = f"{address}/{{id}}"
    return [
        at(address, get=ImportList.show),
        at(
            f"{address}/new",
            get=import_upload.new_form,
            post=import_upload.upload_form,
            files=1,
            largest=largest_import,
        ),
        Route(
            f"{address}/upload",
            upload_call(pages, import_upload.upload_call, who=Who.OWNER, largest=largest_import),
        ),
        at(one, get=import_run.run_page),
        at(f"{one}/preview", post=import_run.preview_again),
        at(f"{one}/run", post=import_run.starts(IMPORT)),
        at(f"{one}/discard", post=import_run.discard),
        at(f"{one}/pictures", post=import_run.starts(PICTURES)),
        at(f"{one}/undo", get=import_run.undo_form, post=import_run.starts(UNDO)),
        at(f"{one}/redirects.csv", get=import_files.redirects_file),
        at(f"{one}/import-errors.json", get=import_files.errors_download),
        at(f"{one}/samples/{{number}}", get=sample_page),
    ]
