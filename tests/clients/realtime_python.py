"""PocketBase's Python client and its realtime service. A program of its own: the client can't close
its stream. Arguments: the server, an owner's email address and password."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

from pocketbase import PocketBase


def wait_until(is_true: Callable[[], bool]) -> None:
    ends = time.monotonic() + 20
    while not is_true():
        assert time.monotonic() < ends
        time.sleep(0.02)


def subscribed_guest(url: str, hear: Callable[[Any], None]) -> PocketBase:
    """A guest whose stream is open. The client reads its stream before it listens to it: one whose
    first message came in between waits for ever, and another is tried."""
    while True:
        guest = PocketBase(url)
        guest.collection("posts").subscribe(hear)
        ends = time.monotonic() + 2
        while time.monotonic() < ends:
            if guest.realtime.client_id:
                return guest
            time.sleep(0.02)


def main(url: str, email: str, password: str) -> None:
    owner = PocketBase(url)
    owner.collection("_superusers").auth_with_password(email, password)
    posts = owner.collection("posts")
    heard: list[tuple[str, str]] = []

    def hear(message: Any) -> None:
        heard.append((message.action, message.record.title))

    subscribed = subscribed_guest(url, hear)
    # It subscribes in a thread of its own, and does not tell when it has.
    while not heard:
        posts.create({"title": "Is it there?", "status": "published"})
        time.sleep(0.2)
    assert subscribed.realtime.client_id
    time.sleep(1)
    heard.clear()
    posts.create({"title": "Draft"})
    post = posts.create({"title": "Out", "status": "published"})
    posts.update(post.id, {"title": "Changed"})
    posts.delete(post.id)
    wait_until(lambda: len(heard) >= 3)
    assert heard == [("create", "Out"), ("update", "Changed"), ("delete", "Changed")], heard
    sys.stdout.write("ok\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
