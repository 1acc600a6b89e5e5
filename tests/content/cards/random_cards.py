"""Cards as the editor has them, drawn at random."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

Json = dict[str, Any]

_WORDS = st.lists(
    st.sampled_from(["a", "word", "<b>", "&amp;", '"q"', "it's", "é", "💡", "1.", "*x*"]),
    min_size=1,
    max_size=4,
).map(" ".join)
_MAYBE = st.one_of(st.just(""), _WORDS)
_LINKS = st.sampled_from(
    ["https://a.example/?a=1&b=2", "https://a.example/x y", "/about", "mailto:a@b.example"]
).map(lambda url: url.replace(" ", "%20"))
_FILES = st.sampled_from(["https://a.example/f.bin?x=1&y=2", "/media/abcdefghijklmno/f.png"])
_PLAYERS = st.sampled_from(
    [
        "https://www.youtube.com/watch?v=dQw4w9WgXcQ&t=1m2s",
        "https://vimeo.com/76979871",
        "https://open.spotify.com/track/4uLU6hMCjMI75M1A2tKUQC",
        "https://soundcloud.com/forss/flickermood",
        "https://bsky.app/profile/bsky.app/post/3l6oveex3ii2l",
        "https://tube.example/w/9c9de5e8b7d4a4aa2b1c3d",
        "https://social.example/@ada/109876543210987654",
        "https://elsewhere.example/a",
    ]
)


def _card(kind: str, /, **values: Any) -> st.SearchStrategy[Json]:
    """Without the values that are empty, as the editor sends it."""
    return st.fixed_dictionaries(values).map(
        lambda found: {
            "type": kind,
            "attrs": {key: each for key, each in found.items() if each not in ("", 0)},
        }
    )


_IMAGES = st.fixed_dictionaries(
    {"src": _FILES, "alt": _MAYBE, "width": st.integers(0, 900), "height": st.integers(0, 900)}
).map(lambda image: {name: value for name, value in image.items() if value})
_PROVIDERS = (
    ("youtube.com", "YouTube"),
    ("vimeo", "Vimeo"),
    ("spotify", "Spotify"),
    ("soundcloud", "SoundCloud"),
    ("bsky", "Bluesky"),
    ("tube.example", "PeerTube"),
    ("social", "Mastodon"),
)


def _with_provider(card: Json) -> Json:
    for part, name in _PROVIDERS:
        if part in card["attrs"]["url"]:
            return {**card, "attrs": {**card["attrs"], "provider": name}}
    return card


LEAVES = st.one_of(
    _card("bookmark", url=_LINKS, title=_MAYBE, description=_MAYBE, image=st.just("") | _FILES),
    _card("button", url=_LINKS, label=_WORDS),
    _card("gallery", images=st.lists(_IMAGES, min_size=1, max_size=12), caption=_MAYBE),
    _card("audio", src=_FILES, title=_MAYBE),
    _card("video", src=_FILES, poster=st.just("") | _FILES, caption=_MAYBE),
    _card("file", src=_FILES, name=_WORDS, size=st.integers(0, 10**12)),
    _card(
        "html",
        html=st.sampled_from(
            [
                "<b>x</b>",
                '<script>let a = \'<p>\' && "x"</script>\n<p class="y">words</p>',
                "<!-- wp:html --><form><input name=a></form>",
                "<p>kg-card-end: html--> x",
                "<p>open <i>and",
            ]
        ),
    ),
    _card("join", label=_WORDS),
    _card("embed", url=_PLAYERS, title=_MAYBE, image=st.just("") | _FILES).map(_with_provider),
)
_PARAGRAPHS = _WORDS.map(
    lambda words: {"type": "paragraph", "content": [{"type": "text", "text": words}]}
)


def _holding(inner: st.SearchStrategy[Json]) -> st.SearchStrategy[Json]:
    blocks = st.lists(st.one_of(_PARAGRAPHS, inner), min_size=1, max_size=3)
    return st.one_of(
        st.builds(
            lambda sign, content: {
                "type": "callout",
                **({"attrs": {"emoji": sign}} if sign else {}),
                "content": content,
            },
            st.sampled_from(["", "💡", "!"]),
            blocks,
        ),
        st.builds(
            lambda words, content: {
                "type": "toggle",
                **({"attrs": {"summary": words}} if words else {}),
                "content": content,
            },
            _MAYBE,
            blocks,
        ),
    )


BLOCKS = st.recursive(st.one_of(LEAVES, _PARAGRAPHS), _holding, max_leaves=5)
DOCUMENTS = st.lists(BLOCKS, min_size=1, max_size=4).map(
    lambda content: {"type": "doc", "content": content}
)
