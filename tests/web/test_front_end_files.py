"""Templates and style sheets stay readable: lines that a diff can show, files about one thing."""

from __future__ import annotations

import re
from pathlib import Path

import jinja2
import pytest

import masthead
from masthead.faces.admin.environment import STATIC
from masthead.faces.reader.themes import OUR_STATIC
from masthead.web.assets import Assets
from masthead.web.style_sheets import join_parts, named_parts
from masthead.web.template_source import Unindented

SOURCE = Path(masthead.__file__).parent
MOST_CHARACTERS = 160
MOST_LINES = 300


def files(*suffixes: str) -> list[Path]:
    found = (path for suffix in suffixes for path in SOURCE.rglob(f"*{suffix}"))
    left_out = ("node_modules", "vendor", "editor")
    return [each for each in found if not {*left_out} & {*each.relative_to(SOURCE).parts[:-1]}]


def test_no_line_of_a_template_is_too_long() -> None:
    templates = [*files(".html"), *files(".xml"), *files(".txt")]
    templates = [each for each in templates if "templates" in each.parts]
    assert len(templates) > 200
    long = [
        f"{path.relative_to(SOURCE)}:{number}"
        for path in templates
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if len(line) > MOST_CHARACTERS
    ]
    assert long == []


def test_no_style_sheet_is_too_long() -> None:
    sheets = [*SOURCE.rglob("static/**/*.css"), *SOURCE.rglob("templates/**/*.css")]
    assert len(sheets) > 50
    assert [each for each in sheets if len(each.read_text().splitlines()) > MOST_LINES] == []


def test_no_script_is_too_long() -> None:
    kinds = ("*.js", "*.ts", "*.mjs")
    scripts = [each for kind in kinds for each in SOURCE.rglob(kind)]
    own = [each for each in scripts if not {"node_modules", "vendor"} & {*each.parts}]
    assert len(own) > 40
    assert [each for each in own if len(each.read_text().splitlines()) > MOST_LINES] == []


@pytest.mark.parametrize(
    ("folder", "sheet"), [(STATIC, "admin.css"), (STATIC, "editor.css"), (OUR_STATIC, "reader.css")]
)
def test_every_part_of_a_style_sheet_is_in_it(folder: Path, sheet: str) -> None:
    parts = {each.relative_to(folder).as_posix() for each in (folder / sheet[:-4]).glob("*.css")}
    assert set(named_parts(sheet, (folder / sheet).read_text())) == parts
    assets = Assets("x", [folder])
    sent = assets.files[assets.url(sheet)].bodies[None]
    assert sent
    assert b"@import" not in sent
    joined = join_parts(sheet, lambda name: (folder / name).read_text())
    assert all((folder / part).read_text().strip() in joined for part in parts)


@pytest.mark.parametrize(
    ("source", "sent"),
    [
        ("<ul>\n  <li>\n    One\n  </li>\n</ul>\n", "<ul><li>One</li></ul>"),
        ("<p>\n  One\n  two <b>three</b>\n</p>", "<p>One two <b>three</b></p>"),
        ("<b>One</b>{% if yes %}\n  two{% endif %}", "<b>One</b> two"),
        (
            '<a\n  class="x"\n  {% if yes %}hidden{% endif %}\n  href="/"\n>\n  To it</a>',
            '<a class="x" hidden href="/"> To it</a>',
        ),
        ("<b class=\"x {{ 'y' if no else 'z' }}\">", '<b class="x z">'),
        ("<b\n  {% if no %}hidden{% endif %}\n  {{ 'open' if no }}>", "<b>"),
        (
            "<p>\n  One\n  {% if yes %}\n    two\n  {% endif %}\n  three\n</p>",
            "<p>One\n two\n three</p>",
        ),
        ("<textarea>\n{{ text }}</textarea>", "<textarea>\n  as typed\n  </textarea>"),
        ("<pre>{{ text }}</pre>", "<pre>  as typed\n  </pre>"),
    ],
)
def test_the_shape_of_a_template_is_not_sent(tmp_path: Path, source: str, sent: str) -> None:
    loader = jinja2.FunctionLoader(lambda name: (source, str(SOURCE / name), None))
    environment = jinja2.Environment(
        loader=loader,
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        extensions=[Unindented],
    )
    page = environment.get_template("x.html").render(yes=True, text="  as typed\n  ")
    assert page == sent


def test_a_template_of_an_operator_is_left_as_it_is(tmp_path: Path) -> None:
    source = "<ul>\n  <li>One</li>\n</ul>"
    loader = jinja2.FunctionLoader(lambda name: (source, str(tmp_path / name), None))
    environment = jinja2.Environment(loader=loader, autoescape=True, extensions=[Unindented])
    assert environment.get_template("x.html").render() == source


_PHYSICAL = re.compile(
    r"(?:margin|padding|border)-(?:left|right)\b|border-(?:top|bottom)-(?:left|right)-radius"
    r"|^\s*(?:left|right):|(?:text-align|float|object-position|clear):\s*(?:left|right)",
    re.MULTILINE,
)


def test_styles_fit_both_directions_of_writing() -> None:
    """A text that an author has aligned to the right stays there."""
    found = [
        f"{path.relative_to(SOURCE)}: {match[0].strip()}"
        for path in sorted(SOURCE.rglob("*.css"))
        if not {"node_modules", "vendor"}.intersection(path.parts)
        for match in _PHYSICAL.finditer(path.read_text())
    ]
    assert found == ["faces/reader/themes/plain/static/reader/text.css: text-align: right"]


_FOUR_SIDES = re.compile(r"(?:margin|padding):((?: +(?:[^\s;()]|\((?:[^()]|\([^()]*\))*\))+){4});")


def test_pages_of_readers_have_no_shorthand_of_four_sides_whose_ends_differ() -> None:
    found = []
    for path in sorted((SOURCE / "faces" / "reader").rglob("*.css")):
        for match in _FOUR_SIDES.finditer(path.read_text()):
            _, right, _, left = re.findall(r" +((?:[^\s()]|\((?:[^()]|\([^()]*\))*\))+)", match[1])
            if right != left:
                found.append(f"{path.relative_to(SOURCE)}: {match[0]}")
    assert found == []
