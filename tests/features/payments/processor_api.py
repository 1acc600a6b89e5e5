"""The API of a payment processor over a real socket: Stripe's addresses, forms and answers."""

from __future__ import annotations

import itertools
import json
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl

from tests.tls import Behaviour, Exchange, Received, Receiver, answer

CHECKOUT = "/v1/checkout/sessions"
PORTAL = "/v1/billing_portal/sessions"
COUPONS = "/v1/coupons"
COUPON_OF_CHECKOUT = "discounts[0][coupon]"
KEY = "sk_test_4eC39HqLyjWDarjtT1zdp7dc"

Form = dict[str, str]


def form_of(request: Received) -> Form:
    assert request.headers["content-type"] == "application/x-www-form-urlencoded"
    return dict(parse_qsl(request.body.decode(), strict_parsing=True))


def says(status: int, body: Any, **headers: str) -> Behaviour:
    return answer(status, json.dumps(body).encode(), Content_Type="application/json", **headers)


def refuses(status: int, **error: str) -> Behaviour:
    """With a message as the processor writes it, which repeats a part of the key."""
    message = f"Invalid API Key provided: {KEY[:12]}********{KEY[-4:]}"
    return says(status, {"error": {"message": message, **error}})


@dataclass
class ProcessorApi:
    """Opens checkouts and portals, and makes coupons; a checkout is at an address of the same
    server."""

    receiver: Receiver
    sessions: dict[str, Form] = field(default_factory=dict)
    """The checkouts by their path, and what they were opened with."""
    coupons: dict[str, Form] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._numbers = itertools.count(1)
        self._answers: dict[str, Behaviour] = {}
        self.receiver.default = self._behave

    @property
    def url(self) -> str:
        return self.receiver.url("")

    @property
    def calls(self) -> list[Received]:
        return [each for each in self.receiver.requests if each.method == "POST"]

    @property
    def last_form(self) -> Form:
        return form_of(self.calls[-1])

    async def _behave(self, exchange: Exchange) -> None:
        request = exchange.request
        if request.method == "GET" and request.path not in self.sessions:
            await answer(404)(exchange)  # an icon that a browser asks for
            return
        if request.method == "GET":
            next_url = self.sessions[request.path].get("success_url", "")
            page = f'<title>Checkout</title><h1>Pay here</h1><a href="{next_url}">Pay</a>'
            await answer(200, page.encode(), Content_Type="text/html")(exchange)
            return
        await self._answer_to(request)(exchange)

    def _answer_to(self, request: Received) -> Behaviour:
        assert request.headers["authorization"] == f"Bearer {KEY}"
        assert request.headers["stripe-version"]
        known = request.headers.get("idempotency-key", "")
        if known in self._answers:
            return self._answers[known]
        made = self._coupon(request) if request.path == COUPONS else self._session(request)
        if known:
            self._answers[known] = made
        return made

    def _coupon(self, request: Received) -> Behaviour:
        form = form_of(request)
        if form["id"] in self.coupons:
            return refuses(400, code="resource_already_exists", param="id")
        self.coupons[form["id"]] = form
        return says(200, {"id": form["id"], "object": "coupon"})

    def _session(self, request: Received) -> Behaviour:
        coupon = form_of(request).get(COUPON_OF_CHECKOUT, "")
        if coupon and coupon not in self.coupons:
            return refuses(400, code="resource_missing", param=COUPON_OF_CHECKOUT)
        kind = {CHECKOUT: "c", PORTAL: "p"}[request.path]
        path = f"/{kind}/pay/cs_test_{next(self._numbers)}"
        self.sessions[path] = form_of(request)
        return says(200, {"id": path, "url": self.receiver.url(path)})
