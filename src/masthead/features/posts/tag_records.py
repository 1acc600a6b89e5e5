"""The tags of a site, each with what its page says of it. A post names its tags in a list of its
own: a name that no tag has becomes a tag in the same transaction."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from masthead.base.languages.words import staff_words
from masthead.engine.links.file_uses import Uses
from masthead.engine.records.changes import Change, Relisted, Save
from masthead.engine.records.collection import Collection, Index, Rules
from masthead.engine.records.fields.base import REQUIRED, Access, FieldError, refuse
from masthead.engine.records.fields.documents import TextList
from masthead.engine.records.fields.text import Text, Url
from masthead.engine.records.write.unit import Unit
from masthead.engine.records.write.validation import NewRecord
from masthead.features.posts.site import tag_slug

POST_TAGS: Final = TextList(name="tags", indexed=True)
"""The field of a post with the names of its tags."""


class TagName(Text, frozen=True, kw_only=True):
    """A name that people type has no comma, which separates tags in forms. That of a tag which a
    post brings may have one."""

    max: int = POST_TAGS.max_length

    def parse(self, value: Any) -> str:
        name = " ".join(super().parse(value).split())
        if not name:
            raise FieldError(REQUIRED)
        return name

    def check(self, value: Any) -> Any:
        name = super().check(value)
        if "," in name:
            raise refuse("validation_invalid_format", staff_words("A tag can't contain a comma."))
        return name

    def check_stored(self, value: Any) -> None:
        super().check(value)


def _stamp_slug(save: Save) -> Mapping[str, Any]:
    return {"slug": tag_slug(save.new["name"])}


_FILES = Uses(("picture",))
tags = Collection(
    "tags",
    (
        TagName(
            name="name",
            required=True,
            unique=True,
            immutable=True,
            help="As posts name it. The admin and the public API rename it on its posts, too.",
        ),
        Text(
            name="slug",
            max=255,
            write=Access.ENGINE,
            help="Its place below `/tags/` on the site. Two tags may have the same one.",
        ),
        Text(name="description", max=500, help="What readers see above its posts."),
        Url(name="picture", help="What readers see next to its name, above its posts."),
    ),
    # Every change of a post with tags asks whether they exist.
    is_identity=True,
    audited="name",
    help="The tags of the site's posts, with their descriptions.",
    editors=Rules(read="", update=""),
    authors=Rules(read=""),
    contributors=Rules(read=""),
    made_by="a post, the admin or POST /api/v1/tags",
    # Posts would still name it: the admin and the public API take it off them.
    owner_may_delete=False,
    before_save=_stamp_slug,
    listings=(_FILES.listings,),
    followers=(_FILES,),
    indexes=(Index(("slug",)),),
)


async def _make_tags(unit: Unit, names: Sequence[str]) -> None:
    wanted = dict.fromkeys(names)
    known = await unit.existing(tags, sorted(wanted), by="name")
    for name in wanted:
        if name not in known:
            await unit.by_service().store(tags, NewRecord.of(tags, {"name": name}))


class NamedTags:
    """Follows the posts: every tag that one of them names is a tag of the site."""

    settle = staticmethod(_make_tags)

    @staticmethod
    def note(change: Change, _: Relisted) -> Iterator[str]:
        if change.new is None:
            return
        before = change.old[POST_TAGS.name] if change.old else ()
        for each in change.new[POST_TAGS.name]:
            if each not in before:
                yield each
