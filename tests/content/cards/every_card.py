"""One card of each kind, as the editor's document has them."""

from __future__ import annotations

from typing import Any

YOUTUBE = "https://www.youtube.com/watch?v=dQw4w9WgXcQ"
MASTODON = "https://social.example/@ada/109876543210987654"
OWN_HTML = "<p id='own'>Vote here</p><script>document.title = 'own'</script>"


def words(text: str) -> dict[str, Any]:
    return {"type": "paragraph", "content": [{"type": "text", "text": text}]}


def card(kind: str, *content: dict[str, Any], **attributes: Any) -> dict[str, Any]:
    return {
        "type": kind,
        **({"attrs": attributes} if attributes else {}),
        **({"content": list(content)} if content else {}),
    }


def every_card(picture: str = "https://pics.example/a.png") -> dict[str, dict[str, Any]]:
    """The cards by name. `picture`: the address of one that they show."""
    images = [
        {"src": picture, "alt": "One", "width": 600, "height": 400},
        {"src": picture, "alt": "Two", "width": 400, "height": 600},
        {"src": picture, "alt": "Three", "width": 500, "height": 500},
        {"src": picture, "alt": "Four", "width": 800, "height": 400},
    ]
    return {
        "bookmark": card(
            "bookmark",
            url="https://elsewhere.example/fog?a=1&b=2",
            title='Fog & "mist"',
            description="What a horn says",
            image=picture,
        ),
        "callout": card("callout", words("Mind the tide."), words("Twice a day."), emoji="💡"),
        "toggle": card("toggle", words("It opens."), summary="How does it work?"),
        "button": card("button", url="https://elsewhere.example/buy", label="Buy the book"),
        "gallery": card("gallery", images=images, caption="Four of them"),
        "audio": card("audio", src="https://files.example/horn.mp3", title="The horn"),
        "video": card(
            "video", src="https://files.example/sea.mp4", poster=picture, caption="The sea"
        ),
        "file": card("file", src="https://files.example/tides.pdf", name="Tides", size=123_456),
        "html": card("html", html=OWN_HTML),
        "join": card("join", label="Join the coast"),
        "embed": card("embed", url=YOUTUBE, title="A film", image=picture, provider="YouTube"),
    }


def document(picture: str = "https://pics.example/a.png") -> dict[str, Any]:
    return {"type": "doc", "content": [words("Before."), *every_card(picture).values()]}
