"""Slugs for tags on other platforms, a different one for every tag."""

from __future__ import annotations

from masthead.engine.records.write.slugs import slugify

LONGEST = 180


class TagSlugs:
    """`C` and `C++` become `c` and `c-2`: other platforms merge tags that have the same slug."""

    def __init__(self) -> None:
        self._by_name: dict[str, str] = {}
        self._taken: set[str] = set()

    def of(self, name: str) -> str:
        if name not in self._by_name:
            self._by_name[name] = self._free(slugify(name, LONGEST))
        return self._by_name[name]

    def _free(self, base: str) -> str:
        slug, number = base, 1
        while slug in self._taken:
            number += 1
            slug = f"{base}-{number}"
        self._taken.add(slug)
        return slug
