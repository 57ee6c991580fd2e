"""What the shop sells, and lines of goods as values and as text (`mug:2,pen:1`).

Never here: a basket's owner, an order.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

QUANTITY_MAX = 99
CURRENCY = "EUR"


class Product(NamedTuple):
    """One product. The price is in cents."""

    sku: str
    name: str
    price: int
    words: str


class Line(NamedTuple):
    """So many of one product."""

    product: Product
    quantity: int

    @property
    def price(self) -> int:
        return self.product.price * self.quantity


PRODUCTS: Mapping[str, Product] = {
    product.sku: product
    for product in (
        Product("mug", "Stoneware mug", 1450, "Holds a large coffee and keeps it warm while you think."),
        Product("notebook", "Ruled notebook", 980, "192 numbered pages that lie flat, bound in grey cloth."),
        Product("lamp", "Desk lamp", 6900, "A warm light on a long arm, dimmed by a turn of the wrist."),
        Product("pen", "Brass pen", 2450, "Heavier than it looks. Takes every standard refill."),
        Product("tote", "Canvas tote", 1900, "Carries a laptop, two books and what is left of lunch."),
        Product("plant", "Potted fern", 2200, "Likes shade and forgives a week without water."),
    )
}


def money(cents: int) -> str:
    """`€1,234.50`."""
    return f"€{cents // 100:,}.{cents % 100:02}"


def total(lines: Iterable[Line]) -> int:
    """What they cost together, in cents."""
    return sum(line.price for line in lines)


def quantity_in(text: str) -> int | None:
    """A quantity somebody typed, from 0 to QUANTITY_MAX, or None."""
    found = re.fullmatch(r"[0-9]{1,4}", text.strip())
    return int(found[0]) if found and int(found[0]) <= QUANTITY_MAX else None


def lines_of(basket: Mapping[str, int]) -> tuple[Line, ...]:
    """A basket (SKU -> quantity) as lines, in the catalogue's order."""
    return tuple(Line(product, basket[sku]) for sku, product in PRODUCTS.items() if basket.get(sku))


def as_text(lines: Iterable[Line]) -> str:
    """`mug:2,pen:1`."""
    return ",".join(f"{line.product.sku}:{line.quantity}" for line in lines)


def read_lines(text: str) -> tuple[Line, ...]:
    """The inverse of `as_text`; a SKU alone is one of it. Empty when anything in it is not understood."""
    basket: dict[str, int] = {}
    for part in text.split(",")[: len(PRODUCTS)]:
        sku, _, number = part.partition(":")
        quantity = quantity_in(number or "1")
        if sku not in PRODUCTS or not quantity:
            return ()
        basket[sku] = quantity
    return lines_of(basket)
