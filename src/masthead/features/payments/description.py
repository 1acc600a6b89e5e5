"""The payment receivers in the description of the service."""

from __future__ import annotations

from typing import Any

import msgspec

from masthead.web.openapi.builders import Yes, content, in_path
from masthead.web.openapi.description import Description, StructAnswer

TAG = "Payments"


class Received(msgspec.Struct, frozen=True):
    received: Yes


RECEIVED = Received(received=True)

_SIGNATURES: list[dict[str, Any]] = [
    {
        "name": name,
        "in": "header",
        "description": "HMAC-SHA256 of the body with the shared secret. One valid header is "
        "enough.",
        "schema": {"type": "string"},
        "example": example,
    }
    for name, example in (
        ("Stripe-Signature", "t=1794648600,v1=5257a869e7ecebeda32affa62cdca3fa51cad7e77a0e56ff"),
        ("payment-signature", "sha256=5257a869e7ecebeda32affa62cdca3fa51cad7e77a0e56ff"),
        ("X-Service-Signature", "sha256=5257a869e7ecebeda32affa62cdca3fa51cad7e77a0e56ff"),
    )
]
_EVENT = {
    "id": "evt_1",
    "type": "customer.subscription.updated",
    "data": {"object": {"id": "sub_1", "customer": "cus_1", "status": "active"}},
}
_SLUG = in_path("slug", "The tenant's slug.", {"type": "string", "minLength": 1}, "demo")


def _receiver(name: str, summary: str, parameters: list[dict[str, Any]]) -> Description:
    meaning = "The event was accepted, now or earlier, or its type is not handled."
    given = {"description": "The processor's event, as it was signed.", "type": "object"}
    return Description(
        name=name,
        tag=TAG,
        summary=summary,
        answers={"200": StructAnswer(meaning, RECEIVED)},
        parameters=[*parameters, *_SIGNATURES],
        body={"required": True, "content": content(given, _EVENT)},
        errors=(404,),
    )


TENANT = _receiver(
    "receiveTenantPayment", "For a tenant's own processor account.", parameters=[_SLUG]
)
PLATFORM = _receiver("receivePayment", "For the platform's processor account.", parameters=[])
