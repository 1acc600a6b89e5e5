"""The tiers of the demo magazine. Nobody pays for them: their payment pages don't exist."""

from __future__ import annotations

TIERS: tuple[dict[str, object], ...] = (
    {
        "name": "Supporter",
        "price": 400,
        "currency": "gbp",
        "interval": "month",
        "benefits": [
            "Every long read, as soon as it is out",
            "The letter on the first of the month",
            "The books of the magazine, once a year",
        ],
        "payment_url": "https://pay.example.com/tideline-supporter",
    },
    {
        "name": "Harbour friend",
        "price": 4400,
        "currency": "gbp",
        "interval": "year",
        "benefits": [
            "Everything that supporters get",
            "The printed quarterly by post",
            "Your name in the spring issue, if you like",
            "A seat at the summer supper on the quay",
        ],
        "position": 1,
        "payment_url": "https://pay.example.com/tideline-friend",
    },
)
