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
from masthead.web.dispatch import Route
from masthead.web.policy import Who, largest_import


def import_routes(pages: AdminPages) -> list[Route]:
    return [*_exports(pages), *_member_imports(pages), *_imports(pages)]


def _exports(pages: AdminPages) -> list[Route]:
    """Also while the site is suspended: an owner may take the data along."""
    at = partial(pages.at, who=Who.OWNER, while_suspended=True)
    one = f"{exports.ADDRESS}/{{id}}"
    return [
        Route(exports.ADDRESS, at(get=exports.exports_page, post=exports.begin, asks_again=True)),
        Route(f"{one}/download", at("id", get=exports.download, asks_again=True)),
        Route(f"{one}/remove", at("id", post=exports.remove)),
    ]


def _member_imports(pages: AdminPages) -> list[Route]:
    at, one = partial(pages.at, who=Who.OWNER), f"{members_import.ADDRESS}/{{id}}"
    return [
        Route(
            members_import.ADDRESS,
            at(get=members_import.upload_form, post=members_import.upload, files=1),
        ),
        Route(one, at("id", get=members_import.import_page, post=members_import.choose)),
        Route(f"{one}/discard", at("id", post=members_import.discard)),
        Route(f"{one}/errors.csv", at("id", get=members_import.download_errors)),
    ]


def _imports(pages: AdminPages) -> list[Route]:
    at, address = partial(pages.at, who=Who.OWNER), "/admin/tools/import"
    one = f"{address}/{{id}}"
    return [
        Route(address, at(get=ImportList.show)),
        Route(
            f"{address}/new",
            at(
                get=import_upload.new_form,
                post=import_upload.upload_form,
                files=1,
                largest=largest_import,
            ),
        ),
        Route(
            f"{address}/upload",
            upload_call(pages, import_upload.upload_call, who=Who.OWNER, largest=largest_import),
        ),
        Route(one, at("id", get=import_run.run_page)),
        Route(f"{one}/preview", at("id", post=import_run.preview_again)),
        Route(f"{one}/run", at("id", post=import_run.start_import)),
        Route(f"{one}/discard", at("id", post=import_run.discard)),
        Route(f"{one}/pictures", at("id", post=import_run.retry_pictures)),
        Route(f"{one}/undo", at("id", get=import_run.undo_form, post=import_run.undo)),
        Route(f"{one}/redirects.csv", at("id", get=import_files.redirects_file)),
        Route(f"{one}/import-errors.json", at("id", get=import_files.errors_download)),
        Route(f"{one}/samples/{{number}}", at("id", "number", get=sample_page)),
    ]
