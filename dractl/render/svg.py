"""A drawing of a host as SVG: packages, NUMA nodes, PCI roots, switches, devices; readable at 1,200 pixels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from xml.sax.saxutils import escape, quoteattr

from dractl.render.topology_layout import (
    COLOURS,
    CONTAINERS,
    DEVICE_WIDTH,
    KIND_NAMES,
    LINE,
    MARGIN,
    PADDING,
    WIDTH,
    Box,
    cut,
    fabric,
    kinds,
    layout,
    title_of,
)

_FONT = "DejaVu Sans, Verdana, Helvetica, Arial, sans-serif"
_HEAD = 62
_BROKEN = "#c62828"


def render_svg(report: Mapping[str, Any]) -> str:
    """The picture as text; it refers to nothing outside of itself."""
    top = layout(report)
    top.move(MARGIN, _HEAD)
    shown = kinds(top)
    height = _HEAD + top.height + MARGIN + 28
    width = WIDTH
    name = report["host"] or report["machine"]["product"] or report["root"]
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height:.0f}" '
        f'viewBox="0 0 {width} {height:.0f}" font-family={quoteattr(_FONT)} font-size="11" role="img">',
        f"<title>{escape(_clean(f'Devices of {name}'))}</title>",
        f'<rect width="{width}" height="{height:.0f}" fill="#ffffff"/>',
        _text(MARGIN, 26, cut(name, 700), 16, bold=True),
        _text(MARGIN, 44, cut(_subtitle(report), width - 2 * MARGIN), 11, "#444444"),
    ]
    _draw(top, parts)
    parts += _legend(shown, height - 20)
    note = _note(report)
    if note:
        parts.append(_text(width - MARGIN, 26, cut(note, 440), 11, "#444444", anchor="end"))
    parts.append("</svg>")
    return "\n".join(parts) + "\n"


def _subtitle(report: Mapping[str, Any]) -> str:
    text = report["topology"]["tree"].get("text", "")
    return " · ".join(part for part in (text, report["summary"]) if part)


def _note(report: Mapping[str, Any]) -> str:
    if report["topology"]["flat"]:
        return "as the virtual machine shows it: not the host's wiring"
    return fabric(report)


def _draw(box: Box, parts: list[str]) -> None:
    if box.type == "device":
        _draw_device(box, parts)
        return
    if box.type != "machine":
        fill, line = CONTAINERS[box.type]
        parts.append(_rectangle(box, fill, line, box.tip))
        parts.append(_text(box.x + PADDING, box.y + 14, cut(title_of(box), box.width - 2 * PADDING), 11, "#333333"))
    for child in box.children:
        _draw(child, parts)


def _draw_device(box: Box, parts: list[str]) -> None:
    fill, line = COLOURS.get(box.kind, COLOURS["other"])
    parts.append(_rectangle(box, fill, _BROKEN if box.broken else line, box.tip, dashed=box.broken))
    x, room = box.x + 7, DEVICE_WIDTH - 14
    parts.append(_text(x, box.y + 15, box.title, 12, line, bold=True))
    for number, text in enumerate(box.lines):
        colour = _BROKEN if box.broken and number == len(box.lines) - 1 else "#222222"
        parts.append(_text(x, box.y + 15 + LINE * (number + 1), cut(text, room), 10.5, colour))


def _rectangle(box: Box, fill: str, line: str, tip: str, dashed: bool = False) -> str:
    dash = ' stroke-dasharray="5 3" stroke-width="2"' if dashed else ""
    return (
        f'<rect x="{box.x:.1f}" y="{box.y:.1f}" width="{box.width:.1f}" height="{box.height:.1f}" rx="4" '
        f'fill="{fill}" stroke="{line}"{dash}><title>{escape(_clean(tip or box.title))}</title></rect>'
    )


def _text(
    x: float, y: float, text: str, size: float, colour: str = "#111111", bold: bool = False, anchor: str = ""
) -> str:
    weight = ' font-weight="bold"' if bold else ""
    end = f' text-anchor="{anchor}"' if anchor else ""
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size:g}" fill="{colour}"{weight}{end}>{escape(_clean(text))}</text>'
    )


def _legend(shown: list[str], y: float) -> list[str]:
    parts: list[str] = []
    x = float(MARGIN)
    for kind in shown:
        fill, line = COLOURS[kind]
        parts.append(f'<rect x="{x:.1f}" y="{y - 9:.1f}" width="12" height="12" rx="2" fill="{fill}" stroke="{line}"/>')
        parts.append(_text(x + 18, y + 1, KIND_NAMES[kind], 11, "#333333"))
        x += 18 + len(KIND_NAMES[kind]) * 7 + 24
    return parts


def _clean(text: str) -> str:
    """Characters that XML does not allow must not come from a machine's files."""
    return "".join(char if char.isprintable() else "?" for char in text)
