"""Filters by what becomes of them, and those of the corpus where it is named."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

from tests import corpus


def _name(text: str) -> str:
    return "{<nil> identifier " + text + "}"


def _number(text: str) -> str:
    return "{<nil> number " + text + "}"


def _text(text: str) -> str:
    return "{<nil> text " + text + "}"


def _call(name: str, *arguments: str) -> str:
    return "{[" + " ".join(arguments) + "] function " + name + "}"


def _compare(left: str, sign: str, right: str, join: str = "&&") -> str:
    return "{{" + f"{left} {sign} {right}" + "} " + join + "}"


def _inner(*items: str, join: str = "&&") -> str:
    return "{[" + " ".join(items) + "] " + join + "}"


def _groups(*items: str) -> str:
    return "[" + " ".join(items) + "]"


TIDE, PORT = (_name(each) for each in ("tide", "port"))
_HIGH: Final = _compare(TIDE, ">", _number("3"))

# With the groups that fexpr, PocketBase's parser, makes of them: a flat list in which each has the
# join before it, the first of them &&; parentheses are a list of their own.
GROUPED: Final = {
    "tide>3": _groups(_HIGH),
    "\t tide\n>  3 ": _groups(_HIGH),
    "tide > 3 // metres": _groups(_HIGH),
    "tide > // metres\n3": _groups(_HIGH),
    "-2.5<=tide": _groups(_compare(_number("-2.5"), "<=", TIDE)),
    "tide?!=port": _groups(_compare(TIDE, "?!=", PORT)),
    "port !~ 'dock'": _groups(_compare(PORT, "!~", _text("dock"))),
    r"port = 'd\'arcy'": _groups(_compare(PORT, "=", _text("d'arcy"))),
    r'port = "d\'arcy"': _groups(_compare(PORT, "=", _text(r"d\'arcy"))),
    r'port = "the \"old\" one"': _groups(_compare(PORT, "=", _text('the "old" one'))),
    "port = '(|| &&)'": _groups(_compare(PORT, "=", _text("(|| &&)"))),
    "tide = @request.auth.id": _groups(_compare(TIDE, "=", _name("@request.auth.id"))),
    "moon() = 1": _groups(_compare(_call("moon"), "=", _number("1"))),
    "sea.depth(1, tide, 'x') < 9": _groups(
        _compare(_call("sea.depth", _number("1"), TIDE, _text("x")), "<", _number("9"))
    ),
    "tide > 3 && port = 'a'": _groups(_HIGH, _compare(PORT, "=", _text("a"))),
    "tide > 3 || port = 'a'": _groups(_HIGH, _compare(PORT, "=", _text("a"), "||")),
    "tide > 3 && port = 'a' || 1 = 2": _groups(
        _HIGH, _compare(PORT, "=", _text("a")), _compare(_number("1"), "=", _number("2"), "||")
    ),
    "(tide > 3)": _groups(_inner(_HIGH)),
    "((tide > 3))": _groups(_inner(_inner(_HIGH))),
    "(tide > 3 || port = 'a') && (tide > 3)": _groups(
        _inner(_HIGH, _compare(PORT, "=", _text("a"), "||")), _inner(_HIGH)
    ),
    "tide > 3 || (port = 'a' && (tide > 3))": _groups(
        _HIGH, _inner(_compare(PORT, "=", _text("a")), _inner(_HIGH), join="||")
    ),
}
# What fexpr refuses, and we with it.
BROKEN: Final = (
    *("", " ", "tide", "tide >", "> 3", "tide > >", "tide > ;", "tide ! 3", "tide + 3", "3 - tide"),
    *("tide && 3", "tide = 3 &&", "|| tide = 3", "tide = 3 && ||", "tide = 3 && port"),
    *("tide = 3 port", "tide = 3 'a'", "tide = 3@port", "tide = .@port", "tide = 3 && 'a'"),
    *("port = 'a\"", "port = \"a'", "port = 'a''", 'port = "a""', "port = ''a''", 'port = ""a""'),
    *("port = `a`", "port = / a", "port = // a", "// a", "()", "(tide = 3", "tide = 3)"),
    *("((tide = 3)", "((tide = 3 || 1 = 2) && 1 = 1))", "{tide = 3}", "[tide = 3]"),
)

# Of the fields that posts and members have.
ON_POSTS: Final = (
    "slug = 'low-water'",
    'visibility="paid"&&published_at!=null',
    "(visibility = 'paid' || visibility = 'members') && title != ''",
    "title ~ 'tide' && title !~ 'ebb'",
    r"title ~ '99\%' || title ~ 'a\_b'",
    "created >= '2023-06-01 00:00:00.000Z' && created < '2023-07-01'",
    "published_at > @now || published_at <= @monthStart",
    "tags ?= 'sea' && tags ?~ 'boat'",
    "tenant_id.owner_id = 'nobody'",
    "@request.auth.id = id",
    "title = '潮 🌊' // both",
    "  1   =   1  ",
    "null = ''",
)
ON_MEMBERS: Final = (
    r"email = 'd\'arcy@example.com'",
    "email ~ '@example.com'",
    "newsletter = true && newsletter != false",
)
REFUSED: Final = (
    *(each for each in BROKEN if each.strip()),
    *("nowhere = 1", "token_key ~ 'a'", "tokenKey ~ 'a'", "password = 'x'"),
    *("slug == 'a'", "slug === 'a'", "slug = 'a' and title = 'b'", "slug = 'a' & title = 'b'"),
    *("slug = 'a' -- b", "slug = 'a' /* b */", "slug = 'a' UNION SELECT 1", "slug IN ('a', 'b')"),
    *("not slug = 'a'", "slug LIKE 'a'", "tenant_id..owner_id = 'a'", ".slug = 'a'", "slug:lower"),
    *("slug = [1]", "slug = 'a'; DELETE FROM posts", "slug = '' OR '1'='1'"),
)
# Attempts to see more than one may, or to reach the database; answered or refused, never a fault.
HOSTILE: Final = (
    'title = "\' OR 1=1 --"',
    "title ~ '%' || title ~ '_'",
    r"title ~ '\\' || title ~ '\\\\%'",
    "title = 'a\0b'",
    "published_at = '0000-00-00' || published_at = 'yesterday'",
    "title > 5 && created < 5",
    "_superusers.email ~ 'a'",
    "@collection.blog_members.email ~ 'a'",
    "tenant_id.owner_id.password ~ 'a'",
    "tenant_id.owner_id.token_key > ''",
    "geoDistance(1,2,3,4) < 5",
    "id = 'a' || (1 = 1 && (2 = 2 || (3 = 3)))",
)


def grouped() -> Iterator[tuple[str, str | None]]:
    """With None for what is refused."""
    yield from GROUPED.items()
    yield from ((text, None) for text in BROKEN)
    for path in corpus.found("filters/fexpr-parse-cases.json"):
        for case in json.loads(path.read_text())["cases"]:
            yield case["expr"], case["tree"] if case["valid"] else None


def judged() -> dict[str, list[str]]:
    """Returns all expressions by what they are: `posts`, `members` (valid there) and `refused`."""
    found = {"posts": [*ON_POSTS], "members": [*ON_MEMBERS], "refused": [*REFUSED]}
    for path in corpus.found("filters/own-expressions.json"):
        cases = json.loads(path.read_text())
        for text in cases["valid"]:
            found["members" if text.startswith(("email", "newsl")) else "posts"].append(text)
        found["refused"] += [text for text in cases["invalid"] if text.strip()]
    return found


def hostile() -> list[str]:
    files = corpus.found("filters/own-expressions.json")
    others = (json.loads(path.read_text())["valid_syntax_security_relevant"] for path in files)
    return [*HOSTILE, *(text for found in others for text in found)]


def every() -> list[str]:
    ours = [*GROUPED, *BROKEN, *ON_POSTS, *ON_MEMBERS, *REFUSED, *HOSTILE]
    for path in corpus.found("filters/*"):
        if path.suffix == ".txt":
            ours += path.read_text().splitlines()
        else:
            ours += _texts(json.loads(path.read_text()))
    return [each for each in dict.fromkeys(ours) if len(each) < 5_000]


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | dict):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _texts(each)
