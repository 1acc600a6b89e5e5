"""Texts, headers and signatures of the events' description that are not in the catalog."""

from __future__ import annotations

from typing import Any

from masthead.engine.events.catalog import Category

TITLE = "Masthead events"

INTRODUCTION = """\
Masthead sends every event of a site, as it happens, to the addresses that subscribe to it.

**Subscribing.** Call `POST /api/v1/webhooks` with a name, an https address and the events you
want. The answer has a secret, which is shown once. A site has up to 100 subscriptions.

**Delivery.** Each event is one POST for each subscription. A 2xx within 10 seconds is a success;
redirects are not followed. After anything else, 410 included, the service retries on its schedule.
Then the delivery waits in the dead-letter queue until someone retries it. Every event arrives at
least once: use `X-Service-Delivery`, which stays the same for all retries, to drop repeats.

**Order.** Deliveries run in parallel, and retries come late. `sequence` counts the changes of a
record: drop an event whose number is lower than the last one that you have handled for the record.

**Signature.** `X-Service-Signature` is `v1=` and the hex HMAC-SHA256 of
`v1:<X-Service-Timestamp>:<raw body>`, keyed with the secret exactly as you received it. Compare in
constant time and refuse timestamps that are more than five minutes off. The `webhook-*` headers are
those of Standard Webhooks: its libraries verify them with the same secret.

**Polling.** If you can't receive calls, `GET /api/v1/webhooks/events` returns the same events.
"""

tags: dict[Category, str] = {
    Category.CONTENT: "Posts and pages.",
    Category.COMMENTS: "Readers' comments on posts.",
    Category.MEMBERS: "The site's members. Addresses come in full.",
    Category.MAILINGS: "Posts that are sent as emails. An addition of this service.",
    Category.MEDIA: "Uploaded pictures and files.",
    Category.COMMERCE: "Products, orders, carts and gift cards.",
    Category.SYSTEM: "The service itself.",
}

EXAMPLE_TIMESTAMP = 1_794_648_600

_UNIX_SECONDS = {"type": "string", "pattern": "^[0-9]+$"}

HEADERS: dict[str, Any] = {
    "type": "object",
    "required": [
        "X-Service-Event",
        "X-Service-Delivery",
        "X-Service-Timestamp",
        "X-Service-Signature",
        "webhook-id",
        "webhook-timestamp",
        "webhook-signature",
    ],
    "properties": {
        "X-Service-Event": {"type": "string", "description": "The event's name."},
        "X-Service-Delivery": {
            "type": "string",
            "description": "The delivery's id, the same for all retries: your idempotency key.",
        },
        "X-Service-Timestamp": {
            **_UNIX_SECONDS,
            "description": "When this attempt was signed, in Unix seconds.",
        },
        "X-Service-Signature": {
            "type": "string",
            "pattern": "^v1=[0-9a-f]{64}(,v1=[0-9a-f]{64})?$",
            "description": "`v1=` and the hex HMAC-SHA256 of `v1:<timestamp>:<raw body>`. While a "
            "secret is rotated with an overlap there are two, with a comma: of the new secret and "
            "of the old one.",
        },
        "webhook-id": {
            "type": "string",
            "description": "Standard Webhooks: the same as `X-Service-Delivery`.",
        },
        "webhook-timestamp": {
            **_UNIX_SECONDS,
            "description": "Standard Webhooks: the same as `X-Service-Timestamp`.",
        },
        "webhook-signature": {
            "type": "string",
            "pattern": "^v1,[A-Za-z0-9+/]{43}=( v1,[A-Za-z0-9+/]{43}=)?$",
            "description": "Standard Webhooks: `v1,` and the base64 HMAC-SHA256 of "
            "`<webhook-id>.<webhook-timestamp>.<raw body>`, keyed with the secret read as base64. "
            "Two with a blank while a secret is rotated with an overlap.",
        },
    },
}

HEADER_EXAMPLES = {
    "X-Service-Delivery": "d1f3h5j7l9n1p3r",
    "X-Service-Timestamp": "1794648601",
    "X-Service-Signature": "v1=5257a869e7ecebeda32affa62cdca3fa51cad7e77a0e56ff536d0ce8e108d8bd",
    "webhook-id": "d1f3h5j7l9n1p3r",
    "webhook-timestamp": "1794648601",
    "webhook-signature": "v1,UleoaefsY+2jKv+mLNyj+lHK1+d6Dlb/U20M6OEI2L0=",
}

SECURITY: dict[str, Any] = {
    "serviceSignature": {
        "type": "httpApiKey",
        "name": "X-Service-Signature",
        "in": "header",
        "description": "`v1=<hex>`: HMAC-SHA256, keyed with the subscription's secret, of "
        "`v1:<X-Service-Timestamp>:<raw body>`.",
    },
    "standardWebhooks": {
        "type": "httpApiKey",
        "name": "webhook-signature",
        "in": "header",
        "description": "`v1,<base64>` as in Standard Webhooks, whose libraries take the same "
        "secret. Either signature is enough.",
    },
}

CORRELATION = {
    "description": "The same for all retries.",
    "location": "$message.header#/X-Service-Delivery",
}
