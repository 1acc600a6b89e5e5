"""PocketBase's Python client and its realtime service. A program of its own: the client can't close
its stream. Arguments: the server, an owner's email address and password."""

from __future__ import annotations

import sys
from queue import Empty, SimpleQueue
from typing import Any

from pocketbase import PocketBase

Heard = SimpleQueue[tuple[str, str]]
"""Actions and titles."""

TRIES = 10
PATIENCE_SECONDS = 60.0


def listening_guest(url: str, posts: Any) -> Heard:
    """Listens as a guest from now on. The client tells neither when it has subscribed, in a thread
    of its own, nor that it has missed the first message, which may come before it listens; then
    another guest is tried."""
    while True:
        heard: Heard = SimpleQueue()
        PocketBase(url).collection("posts").subscribe(
            lambda message, heard=heard: heard.put((message.action, message.record.title))
        )
        for number in range(TRIES):
            posts.create({"title": f"Is it there? {number}", "status": "published"})
            try:
                heard.get(timeout=0.2)
            except Empty:
                continue
            posts.create({"title": "It is there.", "status": "published"})
            while heard.get(timeout=PATIENCE_SECONDS) != ("create", "It is there."):
                pass
            return heard


def main(url: str, email: str, password: str) -> None:
    owner = PocketBase(url)
    owner.collection("_superusers").auth_with_password(email, password)
    posts = owner.collection("posts")
    heard = listening_guest(url, posts)
    posts.create({"title": "Draft"})
    post = posts.create({"title": "Out", "status": "published"})
    posts.update(post.id, {"title": "Changed"})
    posts.delete(post.id)
    for expected in (("create", "Out"), ("update", "Changed"), ("delete", "Changed")):
        assert heard.get(timeout=PATIENCE_SECONDS) == expected
    sys.stdout.write("ok\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
