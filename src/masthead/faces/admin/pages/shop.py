"""The shop: tiers and products to edit; orders and gift cards."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from masthead.base import clock
from masthead.base.languages.words import words
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

_MINOR = words("In the currency's smallest unit: 1250 is 12.50 in euros.")
_CURRENCY = words("Three letters, such as eur.")
STATES = {
    "pending": ("draft", words("Not paid yet")),
    "paid": ("good", words("Paid")),
    "shipped": ("good", words("Shipped")),
    "refunded": ("warn", words("Refunded")),
    "cancelled": ("draft", words("Cancelled")),
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
    title = words("Orders")
    about = words("What was bought, as the payment processor reports it.")
    collection = orders
    template = "shop/_orders.html"
    search = Search(words("Buyer’s whole email address"), words("Buyer’s email address"), "email")
    picks = (
        Pick(
            "status",
            words("Status"),
            words("Any status"),
            {name: w for name, (_, w) in STATES.items()},
        ),
    )
    empty = (
        words("No orders yet"),
        words("An order appears here as soon as the payment processor reports it."),
    )
    no_match = (
        words("No order matches"),
        words("Try another status, or the buyer’s whole email address."),
    )

    email: str = ""
    status: str = ""


class GiftCardList(ShopList, frozen=True):
    address = "/admin/shop/gift-cards"
    title = words("Gift cards")
    about = words(
        "Codes that are worth an amount of money, or a tier that a reader has bought for another. "
        "The list shows only the end of each code."
    )
    collection = gift_cards
    template = "shop/_gift-cards.html"
    search = Search(words("Holder’s whole email address"), words("Holder’s email address"), "email")
    empty = (words("No gift cards yet"), words("A gift card appears here once it is issued."))
    no_match = (words("No gift card matches"), words("Type the holder’s whole email address."))

    email: str = ""

    async def values(self, request: AdminRequest, items: Sequence[Record]) -> dict[str, Any]:
        shown = await super().values(request, items)
        names = await tier_names(request, items)
        now = clock.to_text(request.now)
        states = {each["id"]: gift_state(each, now) for each in items}
        return {**shown, "tiers": names, "gift_states": states}


class ProductList(ShopList, frozen=True):
    address = "/admin/shop/products"
    title = words("Products")
    new = words("New product")
    collection = products
    template = "shop/_goods.html"
    empty = (
        words("No products yet"),
        words(
            "You sell products through the payment processor, which reports each sale to the site."
        ),
    )


class TierList(ShopList, frozen=True):
    address = "/admin/shop/tiers"
    title = words("Tiers")
    new = words("New tier")
    collection = tiers
    template = "shop/_goods.html"
    empty = (
        words("No tiers yet"),
        words(
            "Paid members can read posts for paid members. Set a price and describe what they get."
        ),
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
        Ask("name", words("Name")),
        Ask("slug", words("Address")),
        Ask("description", words("Description")),
        Ask("price", words("Price"), _MINOR),
        Ask("currency", words("Currency"), _CURRENCY),
        Ask(
            "payment_product_id",
            words("Id at the payment processor"),
            words("The product’s id at the payment processor."),
        ),
        Ask("active", words("For sale"), words("Whether readers see it and may buy it.")),
    ),
)
TIERS = Goods(
    TierList,
    (
        Ask("name", words("Name")),
        Ask("price", words("Price"), _MINOR),
        Ask("currency", words("Currency"), _CURRENCY),
        Ask(
            "interval",
            words("Paid every"),
            words("How often the price is paid."),
            choices={"month": words("Month"), "year": words("Year")},
        ),
        Ask("benefits", words("What a member gets"), words("One line for each."), rows=4),
        Ask("position", words("Position"), words("Lower numbers are shown first.")),
        Ask(
            "payment_price_id",
            words("Id of the price at the payment processor"),
            words("If a secret key is set under Settings, Payments, readers pay in a checkout."),
        ),
        Ask(
            "payment_url",
            words("Payment page"),
            words("Used if there is no price id or the site has no payment key."),
        ),
        Ask("active", words("For sale"), words("Whether readers see it and may buy it.")),
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
    return Page("shop/order.html", words("Order"), values)


async def gift_card_page(request: AdminRequest, card_id: str) -> Answer:
    card = await request.records.get(request.caller, gift_cards, card_id)
    values = {
        "card": card,
        "back": GiftCardList.address,
        "tier": (await tier_names(request, [card])).get(card["tier_id"], ""),
        "state": gift_state(card, clock.to_text(request.now)),
    }
    return Page("shop/gift-card.html", words("Gift card"), values)


def gift_state(card: Record, now: str) -> tuple[str, str]:
    """The kind of badge, and its words."""
    if card["redeemed"]:
        return "draft", words("Redeemed")
    if card["voided_at"]:
        return "warn", words("Void")
    if card["send_on"] > now and not card["sent_at"]:
        return "good", words("To be emailed")
    return "good", words("Open")


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
    return Redirect(
        goods.page.address,
        words("%(name)s is for sale.", name=made["name"])
        if made["active"]
        else words("%(name)s is not for sale.", name=made["name"]),
    )


async def goods_form(goods: Goods, request: AdminRequest, record_id: str) -> Answer:
    record = await request.records.get(request.caller, goods.page.collection, record_id)
    return _goods_page(request, goods, record)


async def save_goods(goods: Goods, request: AdminRequest, record_id: str) -> Answer:
    given, collection = goods.form.given(request), goods.page.collection
    saved = await request.records.update(request.caller, collection, record_id, given)
    return Redirect(
        goods.page.address,
        words("%(name)s is saved and for sale.", name=saved["name"])
        if saved["active"]
        else words("%(name)s is saved and not for sale.", name=saved["name"]),
    )


def _goods_page(request: AdminRequest, goods: Goods, record: Record | None = None) -> Page:
    title = str(record["name"]) if record else goods.page.new
    values = {
        "goods": goods,
        **goods.form.values(request, record),
        "action": f"{goods.page.address}/{record['id'] if record else 'new'}",
        "is_new": record is None,
    }
    return Page("shop/goods.html", title, values)


def _line(item: Any) -> dict[str, Any]:
    """A line of an order. An API client may have sent any JSON."""
    if not isinstance(item, dict):
        return {"name": str(item), "quantity": "", "price": ""}
    price = item.get("price", item.get("amount"))
    return {
        "name": str(
            item.get("name") or item.get("title") or item.get("product_id") or words("Something")
        ),
        "quantity": str(item.get("quantity", item.get("qty", 1))),
        "price": price if type(price) is int else "",
    }
