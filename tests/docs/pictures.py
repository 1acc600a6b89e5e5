"""The pictures of the documentation, and from which templates and style sheets each was made.

`make screenshots` writes the pictures with `made-from.json`, and a test compares that list with the
sources: so it finds a picture that is older than what it shows, in any clone.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from pathlib import Path

from jinja2 import Environment, meta

from masthead.faces.admin.environment import STATIC, TEMPLATES
from masthead.faces.reader.themes import OUR_STATIC
from masthead.web.style_sheets import joined_file

ROOT = Path(__file__).parents[2]
IMAGES = ROOT / "docs" / "images"
LIST = IMAGES / "made-from.json"
OUR_TEMPLATES = OUR_STATIC.parent / "templates"

SITE = {
    "site-home": "home.html",
    "site-post": "post.html",
    "site-comments": "post.html",
    "site-paywall": "post.html",
    "site-tag": "list.html",
    "site-author": "list.html",
    "site-archive": "archive.html",
    "site-search": "search.html",
    "site-page": "page.html",
    "site-not-found": "error.html",
    "site-tiers": "tiers.html",
    "site-sign-up": "sign_up.html",
    "site-sign-in": "sign_in.html",
    "site-account": "account.html",
}
ADMIN = {
    "admin-home": "home.html",
    "admin-posts": "texts/list.html",
    "admin-editor": "texts/editor.html",
    "admin-staff": "staff/list.html",
}
"""The template of each page."""
_ROWS = {"admin-posts": "texts/_list.html"}
"""The rows of a list, which its page names only when it is rendered."""
NAMES = (*SITE, *ADMIN)

_SHEET = re.compile(r"""asset\(['"]([\w/-]+\.css)['"]\)""")
_jinja = Environment(autoescape=True, extensions=["jinja2.ext.i18n"])


def write_list() -> None:
    made = {name: {"picture": _digest_of_picture(name), "from": digest(name)} for name in NAMES}
    LIST.write_text(json.dumps(made, indent=2) + "\n")


def outdated() -> list[str]:
    """The pictures that differ from the list, and those whose sources do."""
    stored = json.loads(LIST.read_text()) if LIST.exists() else {}
    return [
        name
        for name in NAMES
        if stored.get(name) != {"picture": _digest_of_picture(name), "from": digest(name)}
    ]


def digest(name: str) -> str:
    """Returns the digest of the templates and style sheets of the page that the picture shows."""
    folder, template = (TEMPLATES, ADMIN[name]) if name in ADMIN else (OUR_TEMPLATES, SITE[name])
    sources: dict[str, bytes] = {}
    for path in _templates(folder, template, *([_ROWS[name]] if name in _ROWS else [])):
        sources[path.relative_to(folder).as_posix()] = path.read_bytes()
        for sheet in _SHEET.findall(path.read_text()):
            [found] = [each / sheet for each in (STATIC, OUR_STATIC) if (each / sheet).exists()]
            sources[sheet] = joined_file(found)
    content = hashlib.sha256()
    for key in sorted(sources):
        content.update(f"{key}\0{len(sources[key])}\0".encode() + sources[key])
    return content.hexdigest()[:32]


def _templates(folder: Path, *first: str) -> Iterator[Path]:
    """The templates with all that they extend, include and import."""
    seen, waiting = {*first}, [*first]
    while waiting:
        path = folder / waiting.pop()
        yield path
        for name in meta.find_referenced_templates(_jinja.parse(path.read_text())):
            # None is a name that only a rendering knows.
            if name is not None and name not in seen:
                seen.add(name)
                waiting.append(name)


def _digest_of_picture(name: str) -> str:
    path = IMAGES / f"{name}.webp"
    return hashlib.sha256(path.read_bytes()).hexdigest()[:32] if path.exists() else ""
