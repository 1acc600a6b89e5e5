"""Uses a client that was generated from the API's description: create, list, update, delete.

Run with the address and a key; the generated package must be on the path.
"""

from __future__ import annotations

import sys
from typing import Any

from masthead_api_client import AuthenticatedClient
from masthead_api_client.api.posts import (
    create_post,
    delete_post,
    get_post,
    list_posts,
    update_post,
)
from masthead_api_client.models import (
    ErrorCode,
    Post,
    PostCreate,
    PostData,
    PostSummaryPage,
    PostUpdate,
    PostUpdateStatus,
)


def main(address: str, key: str) -> None:
    with AuthenticatedClient(base_url=address, token=key) as client:
        made = create_post.sync(
            client=client, body=PostCreate(title="Made by a generated client", tags=["one", "two"])
        )
        assert isinstance(made, PostData), made
        post = made.data
        assert (post.slug, post.tags) == ("made-by-a-generated-client", ["one", "two"])
        assert post.published_at is None

        page = list_posts.sync(client=client, per_page=1)
        assert isinstance(page, PostSummaryPage), page
        assert [each.id for each in page.items] == [post.id]

        published = PostUpdate(status=PostUpdateStatus.PUBLISHED)
        changed = update_post.sync(id=post.id, client=client, body=published)
        assert isinstance(changed, PostData), changed
        assert changed.data.published_at is not None

        read: Any = get_post.sync(id=post.id, client=client)
        assert isinstance(read, Post), read
        assert read == changed.data

        assert delete_post.sync_detailed(id=post.id, client=client).status_code == 204
        gone: Any = get_post.sync(id=post.id, client=client)
        assert gone.error.code is ErrorCode.NOT_FOUND


if __name__ == "__main__":
    main(*sys.argv[1:])
