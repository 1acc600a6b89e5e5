"""The shop: tiers and products to edit; orders and gift cards."""

from __future__ import annotations

from collections.abc import Container, Mapping
from functools import partial
from typing import Any, ClassVar

import msgspec

from masthead.base.errors import Invalid, NotFound, Problem
from masthead.engine.records.collection import Collection, Record
from masthead.engine.records.filter.conditions import all_of, equals
from masthead.engine.records.read.page import ListRequest
from masthead.faces.admin.endpoint import Answer, Handler, Page, Redirect
from masthead.faces.admin.forms import Ask, given_values, sentence_of, widgets
from masthead.faces.admin.lists import Filters, Listing, options, read_page, with_query
from masthead.faces.admin.navigation import shop_tabs
from masthead.faces.admin.request import AdminRequest
from masthead.faces.reader.prices import price_text
from masthead.features.commerce.collection import gift_cards, orders, products
from masthead.features.payments.collection import tiers

ORDERS = "/admin/shop/orders"
GIFT_CARDS = "/admin/shop/gift-cards"
_MINOR = "In the currency's smallest unit: 1250 is 12.50 in euros."
_CURRENCY = "Three letters, such as eur."

STATUSES = {
    "pending": "Not paid yet",
    "paid": "Paid",
    "shipped": "Shipped",
    "refunded": "Refunded",
    "cancelled": "Cancelled",
}
_BADGES = {"pending": "draft", "paid": "good", "shipped": "good", "refunded": "warn"}


class Offer(msgspec.Struct, frozen=True):
    """A kind of thing that owners put up for sale."""

    collection: Collection
    address: str
    title: str
    noun: str
    empty: str
    asks: tuple[Ask, ...]


PRODUCTS = Offer(
    products,
    "/admin/shop/products",
    "Products",
    "product",
    "You sell products through the payment processor, which reports each sale to the site.",
    (
        Ask("name", "Name"),
        Ask("slug", "Address"),
        Ask("description", "Description"),
        Ask("price", "Price", _MINOR),
        Ask("currency", "Currency", _CURRENCY),
        Ask("payment_product_id", "Id at the payment processor"),
        Ask("active", "For sale"),
    ),
)
TIERS = Offer(
    tiers,
    "/admin/shop/tiers",
    "Tiers",
    "tier",
    "Paid members can read posts for paid members. Set a price and describe what they get.",
    (
        Ask("name", "Name"),
        Ask("price", "Price", _MINOR),
        Ask("currency", "Currency", _CURRENCY),
        Ask("interval", "Paid every", choices={"month": "Month", "year": "Year"}),
        Ask("benefits", "What a member gets", "One line for each.", rows=4),
        Ask("position", "Position", "Lower numbers are shown first."),
        Ask(
            "payment_price_id",
            "Id of the price at the payment processor",
            "If a secret key is set under Settings, Payments, readers pay in a checkout.",
        ),
        Ask("payment_url", "Payment page"),
        Ask("active", "For sale"),
    ),
)


class OrderFilters(Filters, frozen=True):
    address: ClassVar[str] = ORDERS
    choices: ClassVar[Mapping[str, Container[str]]] = {"status": STATUSES}

    email: str = ""
    status: str = ""

    def listing(self) -> Listing:
        conditions = []
        if self.email:
            conditions.append(equals("email", self.email.lower()))
        if self.status:
            conditions.append(equals("status", self.status))
        # There is a counter for each status and none for a buyer.
        wanted = ListRequest(
            filter=all_of(conditions) or "", sort="-created", skip_total=bool(self.email)
        )
        return Listing(orders, wanted, self.url)


class GiftCardFilters(Filters, frozen=True):
    address: ClassVar[str] = GIFT_CARDS

    email: str = ""

    def listing(self) -> Listing:
        condition = equals("email", self.email.lower()) if self.email else ""
        wanted = ListRequest(filter=condition, sort="-created", skip_total=bool(self.email))
        return Listing(gift_cards, wanted, self.url)


class Line(msgspec.Struct, frozen=True):
    """One line of an order."""

    name: str
    quantity: str
    price: str


async def orders_list(request: AdminRequest) -> Answer:
    filters = OrderFilters.of(request.query)
    page = await read_page(request, filters.listing())
    if page is None:
        return Redirect(filters.url())
    items, pager = page
    rows = [
        {
            "url": f"{ORDERS}/{each['id']}",
            "email": each["email"],
            "badge": _BADGES.get(each["status"], "draft"),
            "status": STATUSES[each["status"]],
            "total": _price(request, each["total"], each["currency"]),
            "when": request.when(each["created"]),
        }
        for each in items
    ]
    values = {
        "shop": shop_tabs(request),
        "filters": filters,
        "rows": rows,
        "pager": pager,
        "statuses": options(STATUSES),
    }
    return Page("shop/orders.html", "Orders", values, fragment="shop/_orders.html")


async def order_page(request: AdminRequest, order_id: str) -> Answer:
    order = await request.records.get(request.caller, orders, order_id)
    currency = order["currency"]
    refunded = order["refunded_amount"]
    values = {
        "order": order,
        "kind": _BADGES.get(order["status"], "draft"),
        "status": STATUSES[order["status"]],
        "lines": [_line(request, each, currency) for each in _items(order["items"])],
        "total": _price(request, order["total"], currency),
        "refunded": _price(request, refunded, currency) if refunded else "",
        "at": request.local(order["created"]),
        "back": ORDERS,
    }
    return Page("shop/order.html", "Order", values)


async def gift_cards_list(request: AdminRequest) -> Answer:
    filters = GiftCardFilters.of(request.query)
    page = await read_page(request, filters.listing())
    if page is None:
        return Redirect(filters.url())
    items, pager = page
    rows = [
        {
            "url": f"{GIFT_CARDS}/{each['id']}",
            "code": _hidden(each["code"]),
            "email": each["email"],
            "is_redeemed": each["redeemed"],
            "amount": _price(request, each["amount"], each["currency"]),
            "when": request.when(each["created"]),
        }
        for each in items
    ]
    values = {"shop": shop_tabs(request), "filters": filters, "rows": rows, "pager": pager}
    return Page("shop/gift-cards.html", "Gift cards", values, fragment="shop/_gift-cards.html")


async def gift_card_page(request: AdminRequest, card_id: str) -> Answer:
    card = await request.records.get(request.caller, gift_cards, card_id)
    values = {
        "card": card,
        "amount": _price(request, card["amount"], card["currency"]),
        "at": request.local(card["created"]),
        "back": GIFT_CARDS,
    }
    return Page("shop/gift-card.html", "Gift card", values)


def offers_list(offer: Offer) -> Handler:
    async def page(request: AdminRequest) -> Answer:
        if not request.caller.is_admin:
            raise NotFound
        listing = Listing(
            offer.collection, ListRequest(sort="-created"), partial(with_query, offer.address)
        )
        found = await read_page(request, listing)
        if found is None:
            return Redirect(offer.address)
        items, pager = found
        rows = [
            {
                "url": f"{offer.address}/{each['id']}",
                "name": each["name"],
                "is_active": each["active"],
                "price": _price(request, each["price"], each["currency"]),
                "interval": each.get("interval", ""),
                "when": request.when(each["updated"]),
            }
            for each in items
        ]
        values = {"shop": shop_tabs(request), "offer": offer, "rows": rows, "pager": pager}
        return Page("shop/offers.html", offer.title, values, fragment="shop/_offers.html")

    return page


def new_offer(offer: Offer) -> Handler:
    async def page(request: AdminRequest) -> Answer:
        request.records.check_may_create(request.caller, offer.collection)
        empty = {each.name: each.default_value() for each in offer.collection.fields}
        return _offer_page(request, offer, empty)

    return page


def create_offer(offer: Offer) -> Handler:
    async def create(request: AdminRequest) -> Answer:
        given = given_values(request.caller, offer.collection, offer.asks, request.form)
        try:
            made = await request.records.create(request.caller, offer.collection, given)
        except Invalid as error:
            empty = {each.name: each.default_value() for each in offer.collection.fields}
            return _offer_page(request, offer, empty, error.problems)
        return Redirect(offer.address, f"{made['name']} is {_state(made)}.")

    return create


def offer_form(offer: Offer) -> Handler:
    async def page(request: AdminRequest, record_id: str) -> Answer:
        if not request.caller.is_admin:
            raise NotFound
        record = await request.records.get(request.caller, offer.collection, record_id)
        return _offer_page(request, offer, record)

    return page


def save_offer(offer: Offer) -> Handler:
    async def save(request: AdminRequest, record_id: str) -> Answer:
        if not request.caller.is_admin:
            raise NotFound
        record = await request.records.get(request.caller, offer.collection, record_id)
        given = given_values(request.caller, offer.collection, offer.asks, request.form)
        try:
            saved = await request.records.update(request.caller, offer.collection, record_id, given)
        except Invalid as error:
            return _offer_page(request, offer, record, error.problems)
        return Redirect(offer.address, f"{saved['name']} is saved and {_state(saved)}.")

    return save


def _offer_page(
    request: AdminRequest,
    offer: Offer,
    record: Record,
    problems: Mapping[str, Problem] | None = None,
) -> Page:
    typed = request.form if problems else None
    fields = widgets(
        request.caller, offer.collection, offer.asks, record, typed=typed, problems=problems
    )
    is_new = "id" not in record
    title = f"New {offer.noun}" if is_new else str(record["name"])
    values = {
        "offer": offer,
        "title": title,
        "fields": fields,
        "problems": {
            name: (fields[name].label if name in fields else name, sentence_of(each))
            for name, each in (problems or {}).items()
        },
        "action": f"{offer.address}/{'new' if is_new else record['id']}",
        "is_new": is_new,
    }
    return Page("shop/offer.html", title, values, status=422 if problems else 200)


def _state(record: Record) -> str:
    return "for sale" if record["active"] else "not for sale"


def _price(request: AdminRequest, amount: int, currency: str) -> str:
    """Without a currency, which an imported order may lack, the bare number."""
    if not currency:
        return f"{amount:,}"
    return price_text(amount, currency, request.site_record.get("language") or "en")


def _items(stored: Any) -> list[Any]:
    """The items of the order. An API client may have sent any JSON."""
    items = msgspec.json.decode(stored) if isinstance(stored, msgspec.Raw) else stored
    return items if isinstance(items, list) else []


def _line(request: AdminRequest, item: Any, currency: str) -> Line:
    if not isinstance(item, dict):
        return Line(str(item), "", "")
    price = item.get("price", item.get("amount"))
    return Line(
        str(item.get("name") or item.get("title") or item.get("product_id") or "Something"),
        str(item.get("quantity", item.get("qty", 1))),
        _price(request, price, currency) if type(price) is int else "",
    )


def _hidden(code: str) -> str:
    """A code is worth money: lists show only its end."""
    return f"…{code[-4:]}" if len(code) > 8 else "…"
