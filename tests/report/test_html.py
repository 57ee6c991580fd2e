"""The page."""

from __future__ import annotations

import re
from base64 import b64encode
from dataclasses import replace
from hashlib import sha256
from html.parser import HTMLParser
from urllib.parse import unquote

import pytest

from harness.model.result import CampaignResult
from harness.model.verdict import Outcome
from harness.report.html import FAILURES_MAX, to_html
from tests.report import examples

VOID = {"meta", "br", "link", "img", "input", "hr"}
RESULTS = [examples.campaign(), examples.holding(), examples.inconclusive()]


class Page(HTMLParser):
    """Reads a page and keeps its elements in order, those open, and its text by element id."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.crossed: list[str] = []
        self.text = ""
        self.feed(source)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {name: value or "" for name, value in attrs}))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            self.crossed.append(tag)

    def handle_data(self, data: str) -> None:
        self.text += data

    def values(self, attribute: str) -> list[str]:
        return [found[attribute] for _, found in self.elements if attribute in found]


@pytest.mark.parametrize("result", RESULTS)
def test_every_element_is_closed_where_it_was_opened(result: CampaignResult) -> None:
    page = Page(to_html(result))
    assert page.open == []
    assert page.crossed == []


@pytest.mark.parametrize("result", RESULTS)
def test_ids_are_unique_and_every_link_of_the_page_leads_somewhere(result: CampaignResult) -> None:
    page = Page(to_html(result))
    ids = page.values("id")
    assert len(ids) == len(set(ids))
    assert page.values("href")
    assert all(link.startswith("#") and unquote(link[1:]) in ids for link in page.values("href"))
    assert set(" ".join(page.values("aria-labelledby")).split()) <= set(ids)


@pytest.mark.parametrize("result", RESULTS)
def test_nothing_is_fetched_and_nothing_is_run(result: CampaignResult) -> None:
    source = to_html(result)
    page = Page(source)
    assert page.values("src") == []
    assert not {"script", "link", "iframe", "object", "img"} & {tag for tag, _ in page.elements}
    assert not re.search(r"url\(|@import", source)
    assert page.values("style") == []
    assert not [name for _, found in page.elements for name in found if name.startswith("on")]


def test_the_pages_policy_allows_its_own_style_and_nothing_else() -> None:
    source = to_html(examples.campaign())
    style = source.split("<style>")[1].split("</style>")[0]
    allowed = b64encode(sha256(style.encode()).digest()).decode()
    assert f"default-src 'none'; style-src 'sha256-{allowed}'" in Page(source).values("content")[2]


def test_the_headline_is_the_verdict_and_the_exit_code_has_its_meaning() -> None:
    source = to_html(examples.campaign())
    assert "<h1>no-duplicate-effect and no-blind-retry are broken in 2 of 11 runs.</h1>" in source
    assert "Exit code 1: a guarantee is violated." in source


def test_parts_come_in_the_order_a_reader_needs_them() -> None:
    source = to_html(examples.campaign())
    parts = ["<h1>", "coverage", "trust", "matrix", "failures", "guarantees", "environment"]
    places = [source.index(part if part == "<h1>" else f'<section class="part" id="{part}"') for part in parts]
    assert places == sorted(places)


def test_a_failure_shows_replay_story_picture_books_and_reason_in_this_order() -> None:
    source = to_html(examples.campaign())
    section = source[source.index('<article class="failure"') : source.index("</article>")]
    heads = re.findall(r"<h4>(.*?)</h4>", section)
    assert heads == [
        "See it again",
        "What happened",
        "The same as a picture",
        "Claims beside effects",
        "Why this is a contradiction",
    ]
    assert section.count("<svg") == 1
    assert "2 effects standing" in section


def test_the_matrix_marks_cells_by_word_and_shape_and_links_violations() -> None:
    source = to_html(examples.campaign())
    linked = re.findall(r'<a class="cell violated" href="#(.*?)".*?>✕<span class="vh"> violated</span>', source)
    assert linked == ["f-001-no-duplicate-effect"]
    assert source.count('<span class="cell violated">✕<span class="vh"> violated</span></span>') == 1
    assert '<span class="cell unknown">?<span class="vh"> unknown</span>' in source


def test_a_fault_that_did_not_fire_is_told_where_trust_is_asked_for() -> None:
    assert "Scheduled faults fired in 10 of 11 runs" in to_html(examples.campaign())
    assert "Every scheduled fault fired: 11 of 11." in to_html(examples.holding())


def test_what_a_candidate_calls_itself_is_text() -> None:
    source = to_html(replace(examples.campaign(), candidate="<script>alert(1)</script>"))
    assert "<script>" not in source
    assert "&lt;script&gt;" in source


def test_failures_beyond_the_limit_are_counted_and_not_linked() -> None:
    many = tuple(examples.failure(number) for number in range(FAILURES_MAX + 5))
    source = to_html(replace(examples.campaign(), failures=many))
    assert source.count('<article class="failure"') == FAILURES_MAX
    assert f"The first {FAILURES_MAX} of {FAILURES_MAX + 5} are shown." in source


def test_the_page_can_be_used_with_the_keyboard() -> None:
    page = Page(to_html(examples.campaign()))
    scrolling = [found for _, found in page.elements if "scroll" in found.get("class", "").split()]
    assert scrolling
    assert all(found.get("tabindex") == "0" and found.get("aria-label") for found in scrolling)


@pytest.mark.slow
def test_a_large_campaign_stays_below_five_megabytes() -> None:
    phases = ("before-intent", "intent-recorded", "sent", "delivered", "committed", "acknowledged", "recorded")
    faults = ("crash", "lost-request", "lost-response", "cancel", "clock-jump", "zombie-worker", "rate-limited")
    rows = tuple(
        examples.row(f"w/op{op}/attempt-{nth}/{phase}", fault, Outcome.HOLDS)
        for op in range(60)
        for nth in range(1, 6)
        for phase in phases
        for fault in faults
    )
    many = tuple(examples.failure(number) for number in range(FAILURES_MAX))
    assert len(rows) > 10_000
    assert len(to_html(replace(examples.campaign(), rows=rows, failures=many)).encode()) < 5_000_000
