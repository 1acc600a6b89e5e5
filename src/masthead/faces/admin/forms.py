"""Forms from collections: a field's type, limit and help choose its widget; a table of the page
gives order and labels. Only the engine validates values."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec

from masthead.base.caller import Caller
from masthead.base.errors import Invalid, MastheadError, Problem
from masthead.base.languages.retelling import retold
from masthead.base.languages.words import words
from masthead.engine.records.access import access_of
from masthead.engine.records.collection import Collection, Record
from masthead.engine.records.fields.base import Field
from masthead.engine.records.fields.documents import TextList
from masthead.engine.records.fields.relation_list import RelationList
from masthead.engine.records.fields.secrets import Secret, SecretValues
from masthead.engine.records.fields.text import Email, Text, Url
from masthead.engine.records.fields.translations import Translations
from masthead.engine.records.fields.values import Flag, Number, Select
from masthead.faces.admin.request import AdminRequest
from masthead.features.site.appearance import MAX_LINKS, Links
from masthead.features.site.custom_domain import CustomDomain

_ONE_LINE = 255
"""A longer text gets an area of several lines."""
_COUNTED = 50
"""The characters of a shorter text are seen without a counter."""
_FEW = 3
"""So many choices are shown at once; more are in a list."""
_EMPTY_LINKS = 2
"""Rows for more of them; the next page has further ones."""
_SENTENCES = {"validation_required": words("This can't be empty.")}


class Ask(msgspec.Struct, frozen=True):
    """A row of a page's table: which field, in which words."""

    name: str
    label: str
    help: str = ""
    """Instead of the collection's."""
    choices: Mapping[str, str] = msgspec.field(default_factory=dict)
    """The words for the values of a choice, or for what a relation may point to. A text with
    choices is chosen from a list; '' is the choice of no value."""
    rows: int = 0
    """The rows of a text area; 0 means by the length of the text. With rows, a list has one item in
    each."""
    prefix: str = ""
    """Shown before the value, such as `/posts/`."""
    is_picture: bool = False
    """An address of a picture, which may be chosen from the library."""
    known: tuple[str, ...] = ()
    """Likely items of a list of texts, most likely first."""
    suggestions: str = ""
    """Where there is more of that: the address of those that begin as what is typed."""
    are_people: bool = False
    """The choices are people, who are searched by name."""


class WidgetChoice(msgspec.Struct, frozen=True):
    value: str
    label: str
    is_chosen: bool


class Widget(msgspec.Struct, frozen=True):
    name: str
    label: str
    kind: str
    """text, email, url, number, secret, area, radios, select, switch, tags, links, several or
    picture."""
    value: str = ""
    help: str = ""
    error: str = ""
    is_required: bool = False
    max: int = 0
    """Characters; 0 has no counter."""
    rows: int = 3
    prefix: str = ""
    placeholder: str = ""
    choices: tuple[WidgetChoice, ...] = ()
    autocomplete: str = ""
    is_set: bool = False
    """A secret has a value, which is never shown."""
    links: tuple[tuple[str, str], ...] = ()
    """Label and address of each, with empty ones to fill in."""
    known: tuple[str, ...] = ()
    suggestions: str = ""
    are_people: bool = False

    @property
    def too_many(self) -> int:
        return max(len(self.value) - self.max, 0) if self.max else 0


def widgets(
    caller: Caller,
    collection: Collection,
    asks: Iterable[Ask],
    record: Record,
    *,
    typed: Mapping[str, str] | None = None,
    problems: Mapping[str, Problem] | None = None,
) -> dict[str, Widget]:
    """The widgets by name, for the fields that the caller may set. `typed` is what was sent and
    refused."""
    found: dict[str, Widget] = {}
    for ask in asks:
        declared = collection.by_name[ask.name]
        if declared.write > access_of(caller):
            continue
        problem = (problems or {}).get(ask.name)
        found[ask.name] = _widget(declared, ask, record, typed, error=sentence_of(problem))
    return found


def given_values(
    caller: Caller, collection: Collection, asks: Iterable[Ask], form: Mapping[str, str]
) -> dict[str, Any]:
    """The form's values of the fields that the caller may set, in the types that the engine
    takes."""
    given: dict[str, Any] = {}
    for ask in asks:
        declared = collection.by_name[ask.name]
        if declared.write <= access_of(caller) and _is_sent(declared, ask, form):
            given[ask.name] = _given(declared, ask, form)
    return given


def sent_values(widget: Widget) -> dict[str, str]:
    """The value that a browser sends for an untouched widget."""
    if widget.kind == "several":
        chosen = {f"{widget.name}.{each.value}": "on" for each in widget.choices if each.is_chosen}
        return {f"has_{widget.name}": "1", **chosen}
    if widget.kind == "switch":
        return {f"has_{widget.name}": "1"} | ({widget.name: "on"} if widget.value else {})
    return {widget.name: widget.value}


def sentence_of(problem: Problem | None) -> str:
    if problem is None:
        return ""
    return retold(str(_SENTENCES.get(problem.code, problem.message)))


def summary(request: AdminRequest, labels: Mapping[str, str]) -> dict[str, tuple[str, str]]:
    """For the list of what is wrong, on top of a form: the label of each field, and the sentence
    about it."""
    found = request.problems.items()
    return {name: (labels.get(name, name), sentence_of(problem)) for name, problem in found}


def empty_record(collection: Collection) -> Record:
    return {each.name: each.default_value() for each in collection.fields}


class Form(msgspec.Struct, frozen=True):
    """A form of a page: which fields of a collection, in which order and words."""

    collection: Collection
    asks: tuple[Ask, ...]

    def given(self, request: AdminRequest, caller: Caller | None = None) -> dict[str, Any]:
        return given_values(caller or request.caller, self.collection, self.asks, request.form)

    def values(
        self,
        request: AdminRequest,
        record: Record | None = None,
        caller: Caller | None = None,
        *,
        labels: Mapping[str, str] | None = None,
        keeps_typed: bool = False,
    ) -> dict[str, Any]:
        """The widgets, and what is wrong. What was typed is shown again where it was refused, or
        not meant to be saved (`keeps_typed`). `labels`: of what can be wrong besides the fields."""
        form, stored = request.form, record or empty_record(self.collection)
        is_sent = any(each.name in form or f"has_{each.name}" in form for each in self.asks)
        fields = widgets(
            caller or request.caller,
            self.collection,
            self.asks,
            stored,
            typed=form if (request.problems or keeps_typed) and is_sent else None,
            problems=request.problems,
        )
        named = {each.name: each.label for each in self.asks} | dict(labels or {})
        return {"fields": fields, "problems": summary(request, named)}


def problem_of(error: MastheadError) -> Problem:
    """The first one of a form, or the refusal as a whole."""
    problems = error.problems.values() if isinstance(error, Invalid) else ()
    return next(iter(problems), Problem("refused", str(error)))


class _AskedField(msgspec.Struct, frozen=True):
    declared: Field
    ask: Ask
    stored: Any
    typed: Mapping[str, str] | None

    @property
    def value(self) -> str:
        if self.typed is None:
            return _shown(self.declared, self.ask, self.stored)
        return self.typed.get(self.ask.name, "")


def _widget(
    declared: Field, ask: Ask, record: Record, typed: Mapping[str, str] | None, *, error: str
) -> Widget:
    asked = _AskedField(declared, ask, record.get(ask.name, declared.default_value()), typed)
    make = next((make for fits, make in _WIDGETS if fits(asked)), _plain)
    return Widget(ask.name, ask.label, help=ask.help or declared.help, error=error, **make(asked))


def _ticks(asked: _AskedField) -> dict[str, Any]:
    ask, typed = asked.ask, asked.typed
    chosen = set(_items(asked.stored)) if typed is None else set(_several(ask, typed))
    choices = tuple(
        WidgetChoice(value, ask.choices[value], value in chosen) for value in ask.choices
    )
    return {"kind": "several", "choices": choices, "are_people": ask.are_people}


def _secret(asked: _AskedField) -> dict[str, Any]:
    return {"kind": "secret", "is_set": bool(asked.stored)}


def _secret_lines(asked: _AskedField) -> dict[str, Any]:
    typed = (asked.typed or {}).get(asked.ask.name, "")
    return {"kind": "area", "value": typed, "is_set": bool(asked.stored), "rows": asked.ask.rows}


def _link_rows(asked: _AskedField) -> dict[str, Any]:
    ask, typed = asked.ask, asked.typed
    links = _links(asked.stored) if typed is None else _typed_links(ask, typed)
    links = (*links, *[("", "")] * min(_EMPTY_LINKS, MAX_LINKS - len(links)))
    return {"kind": "links", "links": links}


def _switch(asked: _AskedField) -> dict[str, Any]:
    is_on = bool(asked.stored) if asked.typed is None else asked.ask.name in asked.typed
    return {"kind": "switch", "value": "on" if is_on else ""}


def _selection(asked: _AskedField) -> dict[str, Any]:
    declared, labels, value = asked.declared, asked.ask.choices, asked.value
    assert isinstance(declared, Select)
    values = ("", *declared.values) if "" in labels else declared.values
    choices = tuple(WidgetChoice(each, labels.get(each, each), each == value) for each in values)
    kind = "radios" if len(values) <= _FEW else "select"
    return {"kind": kind, "value": value, "choices": choices}


def _given_choices(asked: _AskedField) -> dict[str, Any]:
    labels, value = asked.ask.choices, asked.value
    # A value from before, or of another face, may be none of them.
    if value not in labels:
        labels = {value: value, **labels}
    choices = tuple(WidgetChoice(each, label, each == value) for each, label in labels.items())
    return {"kind": "select", "value": value, "choices": choices}


def _plain(asked: _AskedField) -> dict[str, Any]:
    declared, ask = asked.declared, asked.ask
    # Nobody counts the characters of an address.
    is_counted = not isinstance(declared, Email | Url | CustomDomain)
    limit = declared.max if isinstance(declared, Text) and is_counted else 0
    return {
        "kind": "picture" if ask.is_picture else _kind(declared, ask),
        "value": asked.value,
        "is_required": declared.required,
        # A limit that is out of reach is not shown.
        "max": limit if limit != _ONE_LINE and _COUNTED <= limit <= 2_000 else 0,
        "rows": ask.rows or 3,
        "prefix": ask.prefix,
        "known": ask.known,
        "suggestions": ask.suggestions,
    }


_WIDGETS: tuple[
    tuple[Callable[[_AskedField], bool], Callable[[_AskedField], dict[str, Any]]], ...
] = (
    (lambda asked: _has_ticks(asked.declared, asked.ask), _ticks),
    (lambda asked: isinstance(asked.declared, SecretValues), _secret_lines),
    (lambda asked: isinstance(asked.declared, Secret), _secret),
    (lambda asked: isinstance(asked.declared, Links), _link_rows),
    (lambda asked: isinstance(asked.declared, Flag), _switch),
    (lambda asked: isinstance(asked.declared, Select), _selection),
    (lambda asked: bool(asked.ask.choices), _given_choices),
)
"""The functions that draw a field: the first that fits is used."""


def _kind(declared: Field, ask: Ask) -> str:
    if isinstance(declared, Translations):
        return "area"
    if isinstance(declared, TextList):
        return "area" if ask.rows else "tags"
    if isinstance(declared, Number):
        return "number"
    if isinstance(declared, Email):
        return "email"
    if isinstance(declared, Url):
        return "url"
    is_area = isinstance(declared, Text) and declared.max > _ONE_LINE
    return "area" if is_area else "text"


def _shown(declared: Field, ask: Ask, stored: Any) -> str:
    if isinstance(declared, TextList):
        return ("\n" if ask.rows else ", ").join(_items(stored))
    if isinstance(declared, Translations):
        return translation_lines(stored)
    return "" if stored is None else str(stored)


def translation_lines(stored: Any) -> str:
    """The language and the address of each, in a line of its own."""
    items = msgspec.json.decode(stored) if isinstance(stored, msgspec.Raw) else stored
    return "\n".join(f"{each['language']} {each['url']}" for each in items or ())


def _typed_translations(text: str) -> list[dict[str, str]] | None:
    lines = (each.split(maxsplit=1) for each in text.splitlines() if each.strip())
    return [{"language": each[0], "url": each[-1].strip()} for each in lines] or None


def _has_ticks(declared: Field, ask: Ask) -> bool:
    """The values of a list are ticked where the page names all of them."""
    is_named = isinstance(declared, TextList) and bool(ask.choices)
    return isinstance(declared, RelationList) or is_named


def _items(stored: Any) -> list[str]:
    items: list[str] = msgspec.json.decode(stored) if isinstance(stored, msgspec.Raw) else stored
    return items


def _is_sent(declared: Field, ask: Ask, form: Mapping[str, str]) -> bool:
    """A switch that is off and a list without a tick are not sent: a hidden field says that the
    form has them. An empty secret is the one that is set already."""
    if isinstance(declared, Flag | Links) or _has_ticks(declared, ask):
        return f"has_{ask.name}" in form
    if isinstance(declared, Secret):
        return bool(form.get(ask.name, "").strip())
    return ask.name in form


def _given(declared: Field, ask: Ask, form: Mapping[str, str]) -> Any:
    if _has_ticks(declared, ask):
        return _several(ask, form)
    if isinstance(declared, Flag):
        return ask.name in form
    if isinstance(declared, Links):
        return [{"label": label, "url": url} for label, url in _typed_links(ask, form)]
    text = form[ask.name]
    if isinstance(declared, Translations):
        return _typed_translations(text)
    if isinstance(declared, TextList):
        # Whole lines in an area, as sentences have commas.
        items = (each.strip() for each in text.split("\n" if ask.rows else ","))
        return list(dict.fromkeys(each for each in items if each))
    if _kind(declared, ask) != "area":
        text = " ".join(text.split("\n")).strip()
    return declared.coerce(text)


def _several(ask: Ask, form: Mapping[str, str]) -> list[str]:
    """Each choice is a separate field, `<name>.<value>`."""
    return [value for value in ask.choices if f"{ask.name}.{value}" in form]


def _links(stored: Any) -> tuple[tuple[str, str], ...]:
    items = msgspec.json.decode(stored) if isinstance(stored, msgspec.Raw) else stored
    return tuple((each["label"], each["url"]) for each in items or ())


def _place(form: Mapping[str, str], name: str, row: int) -> tuple[int, int]:
    """Where a row was put by its number. One that was moved there comes before the one that was
    there, or after it if it was moved down."""
    own = row + 1
    typed = form.get(f"{name}.{row}.place", "")
    place = int(typed) if len(typed) < 4 and typed.isascii() and typed.isdigit() else own
    return place, (place > own) - (place < own)


def _typed_links(ask: Ask, form: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """Without the rows that were left empty."""
    places = sorted(range(MAX_LINKS), key=lambda row: _place(form, ask.name, row))
    rows = (
        (form.get(f"{ask.name}.{row}.label", ""), form.get(f"{ask.name}.{row}.url", ""))
        for row in places
    )
    return tuple(
        (label.strip(), url.strip()) for label, url in rows if label.strip() or url.strip()
    )
