"""The public API of tags."""

from __future__ import annotations

from msgspec.structs import replace

from masthead.base.errors import Invalid, WrongState
from masthead.engine.records.collection import Record
from masthead.engine.records.fields.text import Text
from masthead.engine.records.fields.values import Number
from masthead.engine.records.filter.conditions import equals
from masthead.engine.records.read.page import Page
from masthead.engine.records.write.unit import Unit
from masthead.features.posts.collection import posts
from masthead.features.posts.site import tag_slug
from masthead.features.posts.tag_records import POST_TAGS, tags
from masthead.features.posts.tags import begin_change, changes_under_way, check_alone, posts_with
from masthead.web.v1.call import Call
from masthead.web.v1.parameters import Parameter
from masthead.web.v1.routes import delete, list_of, patch, post
from masthead.web.v1.schema import Body, View

READ, WRITE = "tags:read", "tags:write"
_SAME_ADDRESS = 100
"""Tags with one slug that are compared with a new name."""

TAG = View(
    "Tag",
    tags,
    ("id", "name", "slug", "description", "posts", "renamed_from", "created"),
    nullable=frozenset({"description"}),
    where_set=frozenset({"renamed_from"}),
    added=(
        Number(name="posts", help="How many posts have the tag, drafts included."),
        Text(
            name="renamed_from",
            help="Shown while some posts still have this name: they get the new one in the "
            "background.",
        ),
    ),
)
CREATE = Body(
    "TagCreate",
    tags,
    ("name", "description"),
    required=frozenset({"name"}),
    nullable=frozenset({"description"}),
)
UPDATE = replace(CREATE, name="TagUpdate", partial=True)
NAME = Parameter("name", "Only the tag with this name, exactly as posts name it.", maximum=100)


async def list_tags(call: Call) -> Page:
    name = call.query["name"]
    page = await call.page(tags, *([equals("name", name)] if name else ()))
    return replace(page, items=await _show(call, page.items))


async def create_tag(call: Call) -> Record:
    name = call.body["name"]
    await _refuse_taken(call.unit, name)
    await _refuse_busy(call.unit, name)
    record = await call.unit.create(tags, call.body)
    [shown] = await _show(call, [record])
    return shown


async def update_tag(call: Call) -> Record:
    unit = call.unit
    old = await unit.require(tags, {"id": call.record_id})
    name = call.body.get("name", old["name"])
    changes = {key: value for key, value in call.body.items() if key != "name"}
    is_renamed = name != old["name"]
    if is_renamed:
        await _refuse_taken(unit, name, but=old["id"])
        await _refuse_busy(unit, old["name"], name)
        await begin_change(
            unit, old, name, await posts_with(call.records, unit.caller, old["name"])
        )
    record = await unit.update(
        tags,
        old["id"],
        changes,
        stamped={"name": name} if is_renamed else None,
        expected_version=call.expected_version,
    )
    [shown] = await _show(call, [record], renamed_from=old["name"] if is_renamed else "")
    return shown


async def delete_tag(call: Call) -> None:
    unit = call.unit
    old = await unit.require(tags, {"id": call.record_id})
    await _refuse_busy(unit, old["name"])
    await begin_change(unit, old, "", await posts_with(call.records, unit.caller, old["name"]))
    await unit.by_service().delete(tags, old["id"], expected_version=call.expected_version)


async def _refuse_taken(unit: Unit, name: str, but: str = "") -> None:
    """Another tag has the name, in capitals or not."""
    for each in await unit.find(tags, {"slug": tag_slug(name)}, limit=_SAME_ADDRESS):
        if each["id"] != but and each["name"].casefold() == name.casefold():
            raise WrongState(f"There is a tag “{each['name']}”. Choose another name.")


async def _refuse_busy(unit: Unit, name: str, new_name: str = "") -> None:
    try:
        await check_alone(unit, name, new_name)
    except Invalid as error:
        [problem] = error.problems.values()
        raise WrongState(problem.message) from None


async def _show(call: Call, found: list[Record], renamed_from: str = "") -> list[Record]:
    """With the number of posts. Those of a tag that is being renamed have its old name or the new
    one. `renamed_from`: by this call, which has not ended."""
    records, caller = call.records, call.caller
    earlier = {each.new_tag: each.tag for each in await changes_under_way(records, caller)}
    if renamed_from:
        earlier[found[0]["name"]] = renamed_from
    names = [(each["name"], earlier.get(each["name"], "")) for each in found]
    wanted = [name for pair in names for name in pair if name]
    totals = await records.counts.of_items(caller, posts, POST_TAGS.name, wanted)
    return [
        {
            **each,
            "posts": totals.get(name, 0) + totals.get(old_name, 0),
            "renamed_from": old_name,
        }
        for each, (name, old_name) in zip(found, names, strict=True)
    ]


routes = (
    list_of(
        "/tags",
        list_tags,
        scope=READ,
        view=TAG,
        filters=(NAME,),
        summary="List tags, newest first",
    ),
    post(
        "/tags",
        create_tag,
        scope=WRITE,
        view=TAG,
        body=CREATE,
        may_conflict=True,
        summary="Create a tag",
    ),
    patch(
        "/tags/{id}",
        update_tag,
        scope=WRITE,
        view=TAG,
        body=UPDATE,
        may_conflict=True,
        summary="Change a tag; a new name renames it on its posts, in the background",
    ),
    delete(
        "/tags/{id}",
        delete_tag,
        scope=WRITE,
        may_conflict=True,
        summary="Delete a tag; its posts lose it, in the background",
    ),
)
