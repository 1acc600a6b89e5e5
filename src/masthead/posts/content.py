"""The two forms of a text, HTML and the editor's document, and which of them is the newer one; for
pages as well."""

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


def follow_content(save: Save) -> Mapping[str, Any]:
    """A text that is sent alone leaves the other one, except that a document is rendered."""
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
    # Loaded with the first document: the editor's schema and its parser are a noticeable part of
    # a start that may never see one.
    from masthead.posts.editor import render

    html = render(save.new["content_json"])
    # What has no HTML of its own, such as another editor's JSON, takes none away.
    return {"content_html": html} if html else {}


def _is_changed(save: Save, name: str) -> bool:
    if name not in save.given:
        return False
    return save.old is None or save.old[name] != save.new[name]
