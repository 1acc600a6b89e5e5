"""The two forms of a text, HTML and the editor's document, kept in agreement; for pages as well."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from masthead.records.collection import Save


def keep_content_together(save: Save) -> Mapping[str, Any]:
    """The two forms of a text agree: whichever one was sent alone decides about the other."""
    sent_html, sent_json = (_is_changed(save, name) for name in ("content_html", "content_json"))
    if sent_json and "content_html" not in save.given and save.new["content_json"] is not None:
        return {"content_html": _rendered(save.new["content_json"])}
    if sent_html and "content_json" not in save.given:
        # The editor would open the older document, and its next save would undo this text.
        return {"content_json": None}
    return {}


def _rendered(content_json: object) -> str:
    # Loaded with the first document: the editor's schema and its parser are a noticeable part of
    # a start that may never see one.
    from masthead.posts.editor import render

    return render(content_json) or ""


def _is_changed(save: Save, name: str) -> bool:
    if name not in save.given:
        return False
    return save.old is None or save.old[name] != save.new[name]
