"""Which documents open in the editor, and under which names."""

from __future__ import annotations

from typing import Any

from masthead.content.texts.editor_document import opened_document


def document(*content: dict[str, Any]) -> dict[str, Any]:
    return {"type": "doc", "content": list(content)}


def test_names_of_other_editors_become_those_of_ours() -> None:
    text = {"type": "text", "text": "One", "marks": [{"type": "strong"}, {"type": "em"}]}
    given = document(
        {
            "type": "bullet_list",
            "content": [
                {"type": "list_item", "content": [{"type": "paragraph", "content": [text]}]}
            ],
        },
        {"type": "code_block", "attrs": {"params": "python"}, "content": []},
        {"type": "youtube", "attrs": {"src": "https://example.org/watch"}},
    )
    opening = opened_document(given)
    assert opening is not None
    assert opening.lacks == set()
    [bullets, code, embed] = opening.document["content"]
    assert bullets["type"] == "bulletList"
    assert bullets["content"][0]["content"][0]["content"][0]["marks"] == [
        {"type": "bold"},
        {"type": "italic"},
    ]
    assert code == {"type": "codeBlock", "attrs": {"language": "python"}}
    assert embed == {"type": "embed", "attrs": {"url": "https://example.org/watch"}}


def test_a_document_with_parts_that_the_editor_lacks_names_them() -> None:
    colour = {"type": "textStyle", "attrs": {"color": "red"}}
    given = document(
        {"type": "paragraph", "content": [{"type": "text", "text": "a", "marks": [colour]}]},
        {"type": "admonition", "content": [{"type": "mention", "attrs": {"id": "ada"}}]},
        {"type": "iframe", "attrs": {"src": "javascript:alert(1)"}},
    )
    opening = opened_document(given)
    assert opening is not None
    assert opening.lacks == {"textStyle", "admonition", "mention", "embed"}


def test_an_empty_document_has_a_paragraph_to_write_in() -> None:
    opening = opened_document(document())
    assert opening is not None
    assert opening.document == document({"type": "paragraph"})


def test_what_is_no_document_does_not_open() -> None:
    assert opened_document(None) is None
    assert opened_document({"blocks": []}) is None
    assert opened_document([{"type": "doc"}]) is None
