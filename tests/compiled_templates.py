"""Compiled templates for all services of a test process, as each of them has its own environments.

A page is of a dozen templates, which take longer to compile than a whole test takes otherwise.
"""

from __future__ import annotations

from functools import wraps
from types import CodeType
from typing import Any
from weakref import WeakKeyDictionary

from jinja2 import BytecodeCache, Environment
from jinja2.bccache import Bucket

from masthead.faces.reader.inlined_includes import WithIncludes


class _Shared(BytecodeCache):
    def __init__(self) -> None:
        self._codes: dict[tuple[object, ...], CodeType] = {}

    def load_bytecode(self, bucket: Bucket) -> None:
        bucket.code = self._codes.get(_key(bucket))

    def dump_bytecode(self, bucket: Bucket) -> None:
        assert bucket.code is not None
        self._codes[_key(bucket)] = bucket.code


def _key(bucket: Bucket) -> tuple[object, ...]:
    """The file, its text, and everything of an environment that changes the code."""
    of = bucket.environment
    options = (of.autoescape, of.trim_blocks, of.lstrip_blocks, of.keep_trailing_newline)
    language = getattr(of, "words_compiled_in", None)
    kind = (type(of), of.undefined, frozenset(of.extensions), language and language.gettext)
    included = _sources(of) if of.code_generator_class is WithIncludes else None
    return (bucket.key, bucket.checksum, included, *kind, *options)


def _sources(of: Environment) -> int:
    """Differs between environments in which a template includes others."""
    if of not in _SOURCES:
        assert of.loader is not None
        texts = (of.loader.get_source(of, name)[0] for name in of.list_templates())
        _SOURCES[of] = hash(tuple(texts))
    return _SOURCES[of]


_SOURCES: WeakKeyDictionary[Environment, int] = WeakKeyDictionary()


def share_compiled_templates() -> None:
    """For every environment that is made from now on."""
    shared, make = _Shared(), Environment.__init__

    @wraps(make)
    def make_with_cache(self: Environment, *args: Any, **options: Any) -> None:
        make(self, *args, **{"bytecode_cache": shared} | options)

    Environment.__init__ = make_with_cache  # type: ignore[method-assign]
