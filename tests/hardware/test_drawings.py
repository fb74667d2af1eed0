"""Drawings: nothing overlaps, nothing leaves its box, everything is in it."""

import re
import shutil
import subprocess
import xml.etree.ElementTree as ET

import pytest

from dractl.render.dot import render_dot
from dractl.render.svg import render_svg
from dractl.render.topology_layout import WIDTH, layout

from . import builder

MACHINES = (
    builder.dgx_h100,
    builder.mi300x,
    builder.grace_hopper,
    builder.l40s_server,
    builder.gaudi,
    builder.fpga_node,
    builder.sriov,
    builder.small_vm,
)
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(params=MACHINES, ids=lambda make: make.__name__)
def drawn(request, tmp_path, report):
    return report(request.param(tmp_path / "host.tar").finish())


def walk(box):
    yield box
    for child in box.children:
        yield from walk(child)


def test_boxes_lie_in_their_parent_and_apart_from_each_other(drawn):
    for box in walk(layout(drawn)):
        for child in box.children:
            assert child.x >= box.x
            assert child.y >= box.y
            assert child.x + child.width <= box.x + box.width + 0.5
            assert child.y + child.height <= box.y + box.height + 0.5
        for number, one in enumerate(box.children):
            for other in box.children[number + 1 :]:
                apart = (
                    one.x + one.width <= other.x + 0.01
                    or other.x + other.width <= one.x + 0.01
                    or one.y + one.height <= other.y + 0.01
                    or other.y + other.height <= one.y + 0.01
                )
                assert apart, (one.title, other.title)


def test_the_svg_is_whole_and_fits_a_page(drawn):
    picture = ET.fromstring(render_svg(drawn))
    assert int(picture.get("width")) == WIDTH <= 1200
    texts = [text.text or "" for text in picture.iter(f"{SVG}text")]
    shown = [
        device
        for device in drawn["devices"]
        if device["kind"] not in {"storage", "display", "other"} and not device.get("parent")
    ]
    for device in shown:
        assert device["label"] in texts
    for text in picture.iter(f"{SVG}text"):
        start, size = float(text.get("x")), float(text.get("font-size"))
        if text.get("text-anchor") != "end":
            assert start + len(text.text or "") * size * 0.62 <= WIDTH


@pytest.mark.skipif(shutil.which("rsvg-convert") is None, reason="no rsvg-convert to draw the picture with")
def test_the_svg_can_be_drawn(drawn, tmp_path):
    (tmp_path / "a.svg").write_text(render_svg(drawn))
    subprocess.run(["rsvg-convert", "-o", tmp_path / "a.png", tmp_path / "a.svg"], check=True)
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")


def test_the_graph_has_every_device_once(drawn):
    text = render_dot(drawn)
    assert text.count("{") == text.count("}")
    for label in drawn["topology"]["matrix"]["labels"]:
        assert len(re.findall(rf'^\s*"{label}" \[', text, re.MULTILINE)) == 1


@pytest.mark.skipif(shutil.which("dot") is None, reason="no Graphviz")
def test_graphviz_reads_the_graph(drawn):
    subprocess.run(["dot", "-Tsvg"], input=render_dot(drawn), text=True, check=True, capture_output=True)


def test_strange_names_stay_text(tmp_path, report):
    machine = builder.l40s_server(tmp_path / "host.tar")
    machine.file("proc/sys/kernel/hostname", '<script>"&\\')
    machine.netdev(machine.places["0000:41:00.0"], 'a"><b>&')
    found = report(machine.finish())
    picture = ET.fromstring(render_svg(found))
    assert not list(picture.iter(f"{SVG}script"))
    assert any('<script>"&\\' in (text.text or "") for text in picture.iter(f"{SVG}text"))
    assert '<script>\\"&\\\\' in render_dot(found)


def test_broken_devices_are_marked(tmp_path, report):
    found = report(builder.gaudi(tmp_path / "host.tar").finish())
    text = render_svg(found)
    assert text.count("stroke-dasharray") == 1
    assert ">malfunction<" in text
