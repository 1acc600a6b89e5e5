"""The environment of our pages: templates without the line breaks that only format their source."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Final

from jinja2 import StrictUndefined
from jinja2.ext import Extension

_OURS = Path(__file__).parents[1]
_BLOCKS = (
    "article|aside|blockquote|body|caption|circle|dd|details|dialog|div|dl|dt|fieldset|figcaption|figure|"
    "footer|form|h[1-6]|head|header|hr|html|legend|li|link|main|meta|nav|ol|optgroup|option|p|"
    "path|rect|section|select|summary|table|tbody|td|tfoot|th|thead|title|tr|ul|use"
)
_TAG = re.compile(r"<[a-zA-Z][^<>]*[\n{][^<>]*>")
_SOMETIMES = (
    re.compile(r" (\{% if [^%]*%\})((?:(?!\{% (?:if|el|endif)).)*\{% endif %\})"),
    re.compile(r" (\{\{ ')([a-z-]+' if (?![^}]* else ))"),
)
_WITH_OWN_SPACE = re.compile(r" (?=\{\{ site\.(?:words|own) \}\}|\{% block main_words %\})")
"""Before attributes that begin with a space of their own, unless there are none."""
_LINE_END = re.compile(r"\n[ \t]+(?!\s|\{[%#])")
_AROUND_BLOCKS = (
    re.compile(rf"\n[ \t]*(?=</?(?:{_BLOCKS})\b|</(?:button|svg)>)"),
    re.compile(rf"(?P<tag></?(?:{_BLOCKS})\b[^<>]*>|<button\b[^<>]*>)\n[ \t]+(?!\{{%)"),
)


class Unindented(Extension):
    """Leaves out the white space that only shapes the source: it would be a quarter of a page.

    White space around blocks goes, and that before an attribute goes with it. Elsewhere the end of
    a line becomes a space; before a statement it stays, for Jinja to drop what belongs to it.
    Templates of an operator's theme are left as they are: what stands in their `<pre>` is not ours
    to change.
    """

    def preprocess(self, source: str, name: str | None, filename: str | None = None) -> str:
        if filename is None or not Path(filename).is_relative_to(_OURS):
            return source
        source = _TAG.sub(_tightened, source)
        for pattern in _AROUND_BLOCKS:
            source = pattern.sub(lambda match: match.groupdict().get("tag") or "", source)
        return _LINE_END.sub(" ", source)


PAGE_OPTIONS: Final[dict[str, Any]] = {
    "undefined": StrictUndefined,
    "trim_blocks": True,
    "lstrip_blocks": True,
    "extensions": [Unindented],
}
"""The options of every `Environment` that renders pages."""


def _tightened(tag: re.Match[str]) -> str:
    text = re.sub(r"\n[ \t]*", " ", tag[0]).replace(" >", ">")
    for pattern in _SOMETIMES:
        text = pattern.sub(r"\1 \2", text)
    return _WITH_OWN_SPACE.sub("", text)
