"""Templates with their includes in them are drawn as Jinja draws them."""

from __future__ import annotations

import pytest
from jinja2 import DictLoader, Environment

from masthead.base.languages.in_templates import DirectCalls, install_words
from masthead.faces.reader.inlined_includes import WithIncludes

PARTS = {
    "_word.html": "<b>{{ word }}</b>\n",
    "_setting.html": "{% set word = 'inner' %}{{ word }}",
    "_nested.html": "[{% include '_word.html' %}]",
    "_itself.html": (
        "{{ each.name }}{% for each in each.below %}({% include '_itself.html' %}){% endfor %}"
    ),
    "layout.html": "<{% block main %}{% endblock %}>{% include '_word.html' %}",
}
TREE = {"name": "a", "below": [{"name": "b", "below": [{"name": "c", "below": []}]}]}


def _environment(kind: type[DirectCalls], parts: dict[str, str] = PARTS) -> Environment:
    environment = Environment(loader=DictLoader(parts), autoescape=True, trim_blocks=True)
    install_words(environment)
    environment.code_generator_class = kind
    return environment


def _drawn(kind: type[DirectCalls], source: str) -> str:
    environment = _environment(kind, {**PARTS, "page.html": source})
    return environment.get_template("page.html").render(word="<outer>", tree=TREE)


@pytest.mark.parametrize(
    "source",
    [
        "{% include '_word.html' %} and {% include '_nested.html' %}",
        "{% include '_setting.html' %} {{ word }}",
        "{% set word = 'set' %}{% include '_word.html' %}",
        "{% for word in ['1', '2'] %}{% include '_word.html' %}{{ loop.index }}{% endfor %}",
        "{% with word = 'given' %}{% include '_nested.html' %}{% endwith %}{{ word }}",
        "{% with each = tree %}{% include '_itself.html' %}{% endwith %}",
        "{% extends 'layout.html' %}{% block main %}{% include '_word.html' %}{% endblock %}",
        "{% set part = '_word.html' %}{% include part %}",
    ],
)
def test_a_page_is_the_same(source: str) -> None:
    assert _drawn(WithIncludes, source) == _drawn(DirectCalls, source)


def test_nothing_is_looked_up_when_a_page_is_drawn() -> None:
    def looks_up(kind: type[DirectCalls]) -> bool:
        code = _environment(kind).compile("{% include '_nested.html' %}", raw=True)
        return "get_template" in code

    assert looks_up(DirectCalls)
    assert not looks_up(WithIncludes)
