"""A text has two forms, HTML and the editor's document. This module records which one is newer, for
posts and pages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from masthead.records.collection import Save
from masthead.records.fields.base import Access
from masthead.records.fields.values import Select

HTML, JSON = "html", "json"

CONTENT_SOURCE = Select(
    name="content_source",
    values=(HTML, JSON),
    default=HTML,
    read=Access.AUTHOR,
    write=Access.ENGINE,
    help="The newer one of the two texts: the one that an editor opens.",
)


def update_content_source(save: Save) -> Mapping[str, Any]:
    """A change of one form leaves the other, except that a document is rendered to HTML."""
    if "content_source" in save.given:
        # An earlier state is restored, with both of its forms.
        return {}
    html_changed, json_changed = (_is_changed(save, n) for n in ("content_html", "content_json"))
    content_json = save.new["content_json"]
    if json_changed and content_json is not None:
        return {"content_source": JSON, **_rendered(save)}
    if html_changed or json_changed:
        return {"content_source": HTML}
    return {}


def _rendered(save: Save) -> Mapping[str, str]:
    if "content_html" in save.given:
        return {}
    html = html_of(save.new["content_json"])
    # JSON that can't be rendered, such as another editor's, leaves the HTML.
    return {"content_html": html} if html else {}


def html_of(content_json: Any) -> str | None:
    # Imported with the first document: the editor's schema and parser would slow down every start.
    from masthead.posts.editor import render

    return render(content_json)


def _is_changed(save: Save, name: str) -> bool:
    if name not in save.given:
        return False
    return save.old is None or save.old[name] != save.new[name]
