"""A picture as inline SVG. Here: pixels. Never here: choosing what is drawn (`picture`).

Shapes carry the meaning, colour repeats it. Colours come from the page's classes; the presentation attributes beside
them keep the picture readable where a content policy strips the page's style.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from html import escape

from harness.report.picture import Arrow, Mark, Picture, Shape

LEFT_PX, TOP_PX, ROW_PX, RIGHT_PX = 92, 54, 36, 232
"""Column of times, head, one row, room for the last lane's labels."""
PAGE_PX, LANE_PX_MIN, LANE_PX_MAX = 1034, 140, 236
"""A lane is as wide as lets all of them stand on the page, within these limits; what does not fit is scrolled to."""


def to_svg(picture: Picture, title_id: str, title: str) -> str:
    """The picture; `title_id` must be unique in the page."""
    rows = max((mark.row for mark in picture.marks), default=0) + 1
    pitch = lane_px(len(picture.lanes))
    width, height = LEFT_PX + pitch * max(len(picture.lanes) - 1, 0) + RIGHT_PX, TOP_PX + ROW_PX * rows + 16
    inner = (
        _tag("title", title, id=title_id),
        *_lanes(picture, height, pitch),
        *_broken(picture, width),
        *_gaps(picture, width),
        *(part for arrow in picture.arrows for part in _arrow(arrow, pitch)),
        *(part for mark in picture.marks for part in _mark(mark, width, pitch)),
    )
    root = {"class": "ts", "role": "img", "aria-labelledby": title_id, "width": width, "height": height}
    look = {"viewBox": f"0 0 {width} {height}", "font-family": "system-ui, sans-serif", "fill": "currentColor"}
    return f'<svg{_attributes(root | look)} font-size="12">' + "\n".join(inner) + "</svg>"


def lane_px(lanes_count: int) -> int:
    """The distance of two lanes."""
    fitting = (PAGE_PX - LEFT_PX - RIGHT_PX) // max(lanes_count - 1, 1)
    return max(LANE_PX_MIN, min(LANE_PX_MAX, fitting))


def _tag(name: str, text: str = "", /, **attributes: object) -> str:
    """One element. `kind` is its class; an underscore in a name stands for a hyphen."""
    named = {"class" if key == "kind" else key.replace("_", "-"): value for key, value in attributes.items()}
    return f"<{name}{_attributes(named)}>{escape(text)}</{name}>"


def _attributes(named: Mapping[str, object]) -> str:
    return "".join(f' {key}="{escape(str(value))}"' for key, value in named.items() if value != "")


def _x(lane: int, pitch: int) -> float:
    return LEFT_PX + 14 + lane * pitch


def _y(row: float) -> float:
    return TOP_PX + ROW_PX * (row + 0.5)


def _across(kind: str, y: float, width: int, dash: str = "") -> str:
    """A line over all lanes."""
    ink = {"stroke": "currentColor", "stroke_opacity": ".35", "stroke_dasharray": dash}
    return _tag("line", kind=kind, x1=LEFT_PX, y1=y, x2=width - 8, y2=y, **ink)


def _beside(kind: str, text: str, y: float, **look: object) -> str:
    """Words in the column of times: what stands there is seen without scrolling sideways."""
    return _tag("text", text, kind=kind, x=LEFT_PX - 10, y=y, text_anchor="end", font_size=11, **look)


def _lanes(picture: Picture, height: int, pitch: int) -> Iterator[str]:
    for index, lane in enumerate(picture.lanes):
        x = _x(index, pitch)
        ink = {"stroke": "currentColor", "stroke_opacity": ".35"}
        yield _tag("line", kind=f"lane {lane.kind.value}", x1=x, y1=TOP_PX - 10, x2=x, y2=height - 8, **ink)
        yield _tag("text", lane.name, kind="head", x=x - 6, y=20, font_weight=600)
        if lane.kind.value != lane.name:
            yield _tag("text", lane.kind.value, kind="kind", x=x - 6, y=35, font_size=11, opacity=".7")


def _broken(picture: Picture, width: int) -> Iterator[str]:
    if picture.broken_row is None:
        return
    y = _y(picture.broken_row) - ROW_PX / 2
    yield _tag("rect", kind="band", x=0, y=y, width=width, height=ROW_PX, fill="#c00", fill_opacity=".10")
    yield _beside("broken", "broken here", y + 8, font_weight=600)


def _gaps(picture: Picture, width: int) -> Iterator[str]:
    for row, count in picture.gaps:
        y = TOP_PX + ROW_PX * row
        yield _across("gap", y, width, dash="1 5")
        yield _beside("gaptext", f"{count} not drawn", y + 4, opacity=".7")


def _arrow(arrow: Arrow, pitch: int) -> Iterator[str]:
    x1, y1, x2, y2 = _x(arrow.lane, pitch), _y(arrow.row), _x(arrow.to_lane, pitch), _y(arrow.to_row)
    kind = f"arrow {'answer' if arrow.answer else 'request'}{' lost' if arrow.lost else ''}"
    if arrow.lost:
        x2, y2 = (x1 + x2) / 2, y1 + (y2 - y1) / 2
    else:
        x2 += -7 if x2 > x1 else 7 if x2 < x1 else 0
    ink = {"stroke": "currentColor", "stroke_width": 1.5, "stroke_dasharray": "6 4" if arrow.lost else ""}
    yield _tag("line", kind=kind, x1=x1, y1=y1, x2=x2, y2=y2, **ink)
    yield _cross(x2, y2, "lost") if arrow.lost else _point(x1, y1, x2, y2)


def _point(x1: float, y1: float, x2: float, y2: float) -> str:
    """An arrow's head, drawn as a polygon: markers would need ids that are unique in the page."""
    length = max(((x2 - x1) ** 2 + (y2 - y1) ** 2) ** 0.5, 1)
    ux, uy = (x2 - x1) / length, (y2 - y1) / length
    corners = [(x2, y2), (x2 - 9 * ux - 4 * uy, y2 - 9 * uy + 4 * ux), (x2 - 9 * ux + 4 * uy, y2 - 9 * uy - 4 * ux)]
    return _tag("polygon", kind="point", points=" ".join(f"{x:.1f},{y:.1f}" for x, y in corners))


def _cross(x: float, y: float, kind: str) -> str:
    path = f"M{x - 5} {y - 5}L{x + 5} {y + 5}M{x + 5} {y - 5}L{x - 5} {y + 5}"
    return _tag("path", kind=f"cross {kind}", d=path, stroke="currentColor", stroke_width=2.5, fill="none")


def _mark(mark: Mark, width: int, pitch: int) -> Iterator[str]:
    y = _y(mark.row)
    kind = f"m {mark.shape.value}{' doubt' if mark.doubt else ''}{' witness' if mark.witness else ''}"
    yield f"<g{_attributes({'class': kind})}>"
    yield _tag("title", f"event {mark.event}: {mark.told}")
    yield _beside("time", mark.time, y + 4, opacity=".75")
    if mark.lane is None:
        yield _across("across", y, width)
        yield _tag("text", mark.label, kind="label", x=LEFT_PX + 22, y=y - 5)
    else:
        yield _figure(mark.shape, _x(mark.lane, pitch), y)
        yield _words(mark, _x(mark.lane, pitch), y)
    yield "</g>"


_LABEL_DY = {Shape.SEND: -7, Shape.SAW: 13, Shape.ARRIVED: 14, Shape.DEATH: 4}
"""What is sent is written above its arrow, what comes in below it, so that the arrow does not cross its own words."""
_BOLD = (Shape.FAULT, Shape.EFFECT, Shape.UNDO, Shape.DEATH)


def _words(mark: Mark, x: float, y: float) -> str:
    dx = 22 if mark.shape in (Shape.SEND, Shape.SAW) else 13
    place = {"x": x + dx, "y": y + _LABEL_DY.get(mark.shape, 4), "font_weight": 600 if mark.shape in _BOLD else ""}
    return _tag("text", mark.label, kind="label", **place) if mark.label else ""


def _figure(shape: Shape, x: float, y: float) -> str:
    match shape:
        case Shape.EFFECT:
            return _tag("circle", kind="fig", cx=x, cy=y, r=7)
        case Shape.UNDO:
            return _tag("circle", kind="fig", cx=x, cy=y, r=6, fill="none", stroke="currentColor", stroke_width=3)
        case Shape.CLAIM:
            return _tag("rect", kind="fig", x=x - 5, y=y - 5, width=10, height=10)
        case Shape.FAULT:
            bolt = f"M{x + 2} {y - 10}L{x - 7} {y + 2}H{x - 1}L{x - 3} {y + 10}L{x + 7} {y - 2}H{x + 1}Z"
            return _tag("path", kind="fig", d=bolt)
        case Shape.DEATH:
            return _cross(x, y, "fig")
        case Shape.NOTE:
            return _tag("path", kind="fig", d=f"M{x} {y - 5}L{x + 5} {y}L{x} {y + 5}L{x - 5} {y}Z")
        case _:
            return _tag("circle", kind="fig", cx=x, cy=y, r=3.5)
