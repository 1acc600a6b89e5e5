"""Forms of the admin as a browser sends them."""

from __future__ import annotations

import re
from html import unescape

from tests.faces.admin.visitor import hidden_in


def filled(page: str) -> dict[str, str]:
    """The fields of the form, as a browser sends them."""
    # A template may write an element over several lines.
    page = re.sub(r"<input[^>]*>", lambda found: " ".join(found[0].split()), page)
    form = hidden_in(page)
    form |= {
        name: unescape(value)
        for name, value in re.findall(r'<input class="input" id="(\w+)"[^>]*value="([^"]*)"', page)
    }
    form |= {
        name: unescape(text)
        for name, text in re.findall(
            r'<textarea[^>]* name="(\w+)"[^>]*>\n(.*?)</textarea>', page, re.S
        )
    }
    form |= dict(re.findall(r'type="radio" name="(\w+)" value="(\w+)" checked', page))
    return form | dict.fromkeys(re.findall(r'name="(authors\.\w+)" checked', page), "on")
