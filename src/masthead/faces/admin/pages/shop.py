"""The shop: tiers and products to edit; orders and gift cards."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from masthead.base import clock
from masthead.engine.records.collection import Record
from masthead.engine.records.filter.ast import Expression
from masthead.engine.records.filter.conditions import equals
from masthead.faces.admin.endpoint import Answer, Page, Redirect
from masthead.faces.admin.environment import items_of
from masthead.faces.admin.forms import Ask, Form
from masthead.faces.admin.lists import ListPage, Pick, Search
from masthead.faces.admin.navigation import shop_tabs
from masthead.faces.admin.request import AdminRequest
from masthead.features.commerce.collection import gift_cards, orders, products
from masthead.features.payments.collection import tiers

_MINOR = "In the currency's smallest unit: 1250 is 12.50 in euros."
_CURRENCY = "Three letters, such as eur."
STATES = {
    "pending": ("draft", "Not paid yet"),
    "paid": ("good", "Paid"),
    "shipped": ("good", "Shipped"),
    "refunded": ("warn", "Refunded"),
    "cancelled": ("draft", "Cancelled"),
}
"""States of orders: the kind of badge, and its words."""


class ShopList(ListPage, frozen=True):
    page = "shop/list.html"
    new = ""
    """The words for a new one of what owners put up for sale."""

    @property
    def is_counted(self) -> bool:
        """There is a counter for each status, and none for a person."""
        return not getattr(self, "email", "")

    def conditions(self, request: AdminRequest) -> list[Expression]:
        email = getattr(self, "email", "")
        found = [equals("email", email.lower())] if email else []
        return [*found, *super().conditions(request)]

    async def values(self, request: AdminRequest, items: Sequence[Record]) -> dict[str, Any]:
        return {"shop": shop_tabs(request), "states": STATES}


class OrderList(ShopList, frozen=True):
    address = "/admin/shop/orders"
    title = "Orders"
    about = "What was bought, as the payment processor reports it."
    collection = orders
    template = "shop/_orders.html"
    search = Search("Buyer’s whole email address", "Buyer’s email address", "email")
    picks = (Pick("status", "Status", "Any status", {name: w for name, (_, w) in STATES.items()}),)
    empty = (
        "No orders yet",
        "An order appears here as soon as the payment processor reports it.",
    )
    no_match = ("No order matches", "Try another status, or the buyer’s whole email address.")

    email: str = ""
    status: str = ""


class GiftCardList(ShopList, frozen=True):
    address = "/admin/shop/gift-cards"
    title = "Gift cards"
    about = (
        "Codes that are worth an amount of money, or a tier that a reader has bought for another. "
        "The list shows only the end of each code."
    )
    collection = gift_cards
    template = "shop/_gift-cards.html"
    search = Search("Holder’s whole email address", "Holder’s email address", "email")
    empty = ("No gift cards yet", "A gift card appears here once it is issued.")
    no_match = ("No gift card matches", "Type the holder’s whole email address.")

    email: str = ""

    async def values(self, request: AdminRequest, items: Sequence[Record]) -> dict[str, Any]:
        shown = await super().values(request, items)
        names = await tier_names(request, items)
        now = clock.to_text(request.now)
        states = {each["id"]: gift_state(each, now) for each in items}
        return {**shown, "tiers": names, "gift_states": states}


class ProductList(ShopList, frozen=True):
    address = "/admin/shop/products"
    title = "Products"
    new = "New product"
    collection = products
    template = "shop/_goods.html"
    empty = (
        "No products yet",
        "You sell products through the payment processor, which reports each sale to the site.",
    )


class TierList(ShopList, frozen=True):
    address = "/admin/shop/tiers"
    title = "Tiers"
    new = "New tier"
    collection = tiers
    template = "shop/_goods.html"
    empty = (
        "No tiers yet",
        "Paid members can read posts for paid members. Set a price and describe what they get.",
    )


class Goods(msgspec.Struct, frozen=True):
    """A kind of thing that owners put up for sale."""

    page: type[ShopList]
    asks: tuple[Ask, ...]

    @property
    def form(self) -> Form:
        return Form(self.page.collection, self.asks)


PRODUCTS = Goods(
    ProductList,
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
TIERS = Goods(
    TierList,
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


async def order_page(request: AdminRequest, order_id: str) -> Answer:
    order = await request.records.get(request.caller, orders, order_id)
    values = {
        "order": order,
        "states": STATES,
        "lines": [_line(each) for each in items_of(order["items"])],
        "back": OrderList.address,
    }
    return Page("shop/order.html", "Order", values)


async def gift_card_page(request: AdminRequest, card_id: str) -> Answer:
    card = await request.records.get(request.caller, gift_cards, card_id)
    values = {
        "card": card,
        "back": GiftCardList.address,
        "tier": (await tier_names(request, [card])).get(card["tier_id"], ""),
        "state": gift_state(card, clock.to_text(request.now)),
    }
    return Page("shop/gift-card.html", "Gift card", values)


def gift_state(card: Record, now: str) -> tuple[str, str]:
    """The kind of badge, and its words."""
    if card["redeemed"]:
        return "draft", "Redeemed"
    if card["voided_at"]:
        return "warn", "Void"
    if card["send_on"] > now and not card["sent_at"]:
        return "good", "To be emailed"
    return "good", "Open"


async def tier_names(request: AdminRequest, cards: Sequence[Record]) -> dict[str, str]:
    wanted = sorted({card["tier_id"] for card in cards} - {""})
    if not wanted:
        return {}
    found = await request.records.find_related(
        request.caller, tiers, "id", wanted, limit=len(wanted)
    )
    return {tier["id"]: tier["name"] for tier in found}


async def new_goods(goods: Goods, request: AdminRequest) -> Answer:
    request.records.check_may_create(request.caller, goods.page.collection)
    return _goods_page(request, goods)


async def create_goods(goods: Goods, request: AdminRequest) -> Answer:
    given = goods.form.given(request)
    made = await request.records.create(request.caller, goods.page.collection, given)
    return Redirect(goods.page.address, f"{made['name']} is {_state(made)}.")


async def goods_form(goods: Goods, request: AdminRequest, record_id: str) -> Answer:
    record = await request.records.get(request.caller, goods.page.collection, record_id)
    return _goods_page(request, goods, record)


async def save_goods(goods: Goods, request: AdminRequest, record_id: str) -> Answer:
    given, collection = goods.form.given(request), goods.page.collection
    saved = await request.records.update(request.caller, collection, record_id, given)
    return Redirect(goods.page.address, f"{saved['name']} is saved and {_state(saved)}.")


def _goods_page(request: AdminRequest, goods: Goods, record: Record | None = None) -> Page:
    title = str(record["name"]) if record else goods.page.new
    values = {
        "goods": goods,
        **goods.form.values(request, record),
        "action": f"{goods.page.address}/{record['id'] if record else 'new'}",
        "is_new": record is None,
    }
    return Page("shop/goods.html", title, values)


def _state(record: Record) -> str:
    return "for sale" if record["active"] else "not for sale"


def _line(item: Any) -> dict[str, Any]:
    """A line of an order. An API client may have sent any JSON."""
    if not isinstance(item, dict):
        return {"name": str(item), "quantity": "", "price": ""}
    price = item.get("price", item.get("amount"))
    return {
        "name": str(item.get("name") or item.get("title") or item.get("product_id") or "Something"),
        "quantity": str(item.get("quantity", item.get("qty", 1))),
        "price": price if type(price) is int else "",
    }
