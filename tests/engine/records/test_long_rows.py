"""SQLite writes the row of a long text in a thread, whatever is changed of it."""

from __future__ import annotations

import threading

import pytest
from tests.world import TenantWorld

from masthead.base.caller import system
from masthead.engine.records.write.record_rows import LONG_TEXT
from masthead.storage.sqlite.database import SqliteDatabase


@pytest.mark.parametrize("service", ["sqlite"], indirect=True)
@pytest.mark.parametrize("is_long", [False, True])
async def test_rows_of_long_texts_are_written_in_a_thread(
    tenant: TenantWorld, is_long: bool
) -> None:
    records, posts = tenant.world.parts.records, tenant.world.collection("posts")
    assert isinstance(records.database, SqliteDatabase)
    written: list[tuple[str, bool]] = []

    def note(statement: str) -> None:
        verb, _, rest = statement.partition(" ")
        if rest.startswith(("INTO posts ", "FROM posts ", "posts ")):
            written.append((verb, threading.current_thread() is threading.main_thread()))

    connection = records.database._writer.connection
    connection.set_trace_callback(note)
    text = "word " * (LONG_TEXT // 5 + 1) if is_long else "words"
    caller = system(tenant.id)
    post = await records.create(caller, posts, {"title": "x", "content_html": f"<p>{text}</p>"})
    await records.update(caller, posts, post["id"], {"title": "y"})
    await records.delete(caller, posts, post["id"])
    connection.set_trace_callback(None)
    assert written == [(verb, not is_long) for verb in ("INSERT", "UPDATE", "DELETE")]
