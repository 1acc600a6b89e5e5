"""Runs a whole site with an API key alone: python3 docs/run_a_site.py ADDRESS KEY [AUTHOR]

Writes a page, a tier, a member, posts (one at once, one later), a tag and a redirect, and reads the
numbers.
"""

from __future__ import annotations

import json
import sys
from datetime import datetime, timedelta, timezone
from typing import Any
from urllib.request import Request, urlopen

ADDRESS, KEY = sys.argv[1:3]
AUTHORS = sys.argv[3:]


def call(method: str, path: str, body: dict[str, Any] | None = None) -> Any:
    headers = {"Authorization": f"Bearer {KEY}", "Content-Type": "application/json"}
    sent = None if body is None else json.dumps(body).encode()
    request = Request(f"{ADDRESS}/api/v1{path}", sent, headers, method=method)
    with urlopen(request) as answer:
        text = answer.read()
    return json.loads(text) if text else None


about = call("POST", "/pages", {"title": "About us", "content_markdown": "We *write*."})["data"]
call("PATCH", f"/pages/{about['id']}", {"status": "published", "excerpt": "Who writes here"})

tier = call("POST", "/tiers", {"name": "Supporter", "price": 500, "currency": "eur"})["data"]
call("PATCH", f"/tiers/{tier['id']}", {"benefits": ["Every post", "A letter on Sundays"]})

member = {"email": "jonas@example.com", "newsletter": True, "consent": "Form at the harbour fair"}
call("POST", "/members", member)

post = {"title": "Heavy rain", "content_markdown": "It rained.", "tags": ["weather"]}
post |= {"status": "published", "authors": AUTHORS}
rain = call("POST", "/posts", post)["data"]
tomorrow = datetime.now(timezone.utc) + timedelta(days=1)
later = {"title": "Clear sky", "tags": ["weather"], "scheduled_for": tomorrow.isoformat()}
call("POST", "/posts", later)

weather = call("GET", "/tags?name=weather")["items"][0]
call("PATCH", f"/tags/{weather['id']}", {"description": "Rain, fog and clear skies"})

call("POST", "/redirects", {"from": "/2019/rain/", "to": f"/posts/{rain['slug']}"})

today = datetime.now(timezone.utc).date().isoformat()
numbers = call("GET", f"/stats?from={today}&to={today}")["data"]
found = call("GET", "/posts?tag=weather&sort=title")["items"]
print(
    json.dumps(
        {"url": rain["url"], "views": numbers["views"], "posts": [p["title"] for p in found]}
    )
)
