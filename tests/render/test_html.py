"""The reports for people: structure, escaping, size, and (where a Chromium is installed) how the page behaves."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shutil
import time
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dractl.diagnose.check import Context, Waiting
from dractl.diagnose.run import Diagnosis
from dractl.explain.report import ClaimExplanation, FixView, GroupView, NameView
from dractl.inventory import Key
from dractl.listing.rows import DeviceRow, HolderRow, NodeRow, TaintRow
from dractl.render.html import render_html
from dractl.render.markdown import render_markdown
from dractl.render.overview import STATE_MARKS, Overview, Place, overview_of
from dractl.rules.finding import Finding, ObjectRef, Severity

AXE = Path(os.environ.get("AXE_CORE") or Path(__file__).parents[2] / "node_modules" / "axe-core" / "axe.min.js")
"""The accessibility checker: npm install --no-save axe-core in the repository's root, or its path in AXE_CORE."""
VOID = {"meta", "input", "br", "link"}
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
browser_test = pytest.mark.skipif(
    CHROMIUM is None or importlib.util.find_spec("websocket") is None, reason="needs chromium and websocket-client"
)


class Page(HTMLParser):
    """Elements with their attributes, the texts in them, and whether all are closed in order."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.texts: list[tuple[str, str]] = []
        self.misnested: list[str] = []
        self.feed(source)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.misnested.append(tag)

    def handle_data(self, data):
        self.texts.append((self.open[-1] if self.open else "", data))

    def handle_comment(self, data):
        self.misnested.append(f"comment {data}")

    def all(self, tag: str) -> list[dict[str, str]]:
        return [attributes for name, attributes in self.elements if name == tag]

    def text(self, *tags: str) -> str:
        return "".join(data for tag, data in self.texts if tag not in ("script", "style") and (not tags or tag in tags))

    def data(self):
        blocks = [data for tag, data in self.texts if tag == "script"]
        return json.loads(blocks[0])


def made_up(nodes: int = 2, devices: int = 3, word: str = "x") -> Overview:
    """An Overview in which ``word`` stands wherever a text of the cluster can stand."""
    places = []
    for number in range(nodes):
        rows = [
            DeviceRow(
                id="",
                driver=f"gpu.example.com{word}",
                pool=f"node-{number}",
                device=f"gpu-{one}{word}",
                state=list(STATE_MARKS)[(number + one) % len(STATE_MARKS)],
                node=f"node-{number}",
                product=f"Accelerator 100{word}",
                reasons=[f"because{word}"],
                holders=[HolderRow("ml", f"claim-{number}-{one}{word}", "gpu", [f"pod-{number}-{one}"])],
                taints=[TaintRow(f"key{word}", word, "NoSchedule", "driver")],
                attributes={"resource.kubernetes.io/pcieRoot": f"pci{one}{word}", "gpu.example.com/numa": one % 2},
            )
            for one in range(devices)
        ]
        node = NodeRow(f"node-{number}{word}", "Ready", taints=[f"a{word}:NoSchedule"])
        places.append(Place(node.name, node, rows))
    finding = Finding("DRA401", Severity.ERROR, f"broken{word}", ObjectRef("Node", word), hint=f"mend{word}")
    claim = ClaimExplanation(
        NameView(f"ns{word}", f"claim{word}"), "1.36", "pending", "unallocated", "doesNotFit", f"summary{word}"
    )
    claim.details, claim.actions, claim.age = [f"detail{word}"], [f"act{word}"], "5m"
    claim.fixes = [FixView(f"fix{word}", "claim", [f"node{word}"], who=f"pod{word}")]
    claim.groups = [GroupView(1, f"reason{word}", where=f"where{word}")]
    diagnosis = Diagnosis(f"source{word}", f"1.36{word}", f"2026{word}", [], findings=[finding], notes=[f"note{word}"])
    states: dict[str, int] = {}
    for place in places:
        for row in place.devices:
            states[row.state] = states.get(row.state, 0) + 1
    drivers = {f"gpu.example.com{word}": states}
    waiting = Waiting(claim, [Key(f"ns{word}", f"claim{word}"), Key(f"ns{word}", f"other{word}")])
    return Overview(diagnosis, places, states, drivers, 7, [waiting], 0, {f"Kind{word}": f"forbidden{word}"})


@pytest.fixture(scope="module")
def demo() -> Overview:
    from dractl.cli.explain import question_of
    from dractl.sources.snapshot import read_demo

    return overview_of(Context(question_of(read_demo(), None)))


def test_what_the_page_says_of_the_demo(demo):
    page = Page(render_html(demo, "1"))
    assert page.misnested == [] and page.open == []
    text = page.text()
    assert "13 nodes (and 1 missing, of which slices tell); 230 devices (129 free, 47 used" in text
    assert "36 claims, 10 pending that pods wait for" in text
    assert "ml/pair-on-h100-1" in text
    assert "drop nodeSelector kubernetes.io/hostname=h100-1 of pod ml/pair-on-h100-1 (pod); tried out" in text
    for item in demo.diagnosis.findings:
        assert item.code in text and (not item.hint or item.hint in text)
    data = page.data()
    assert len(data["places"]) == 14
    devices = [row for place in data["places"] for row in place[2]]
    assert len(devices) == 230
    free = sum(data["states"][row[3]][0] == "free" for row in devices)
    assert free == demo.states["free"] == 129
    used = next(row for row in devices if data["states"][row[3]][0] == "used")
    assert "(request " in data["strings"][used[7][0]]


def test_every_device_keeps_its_fields_in_the_data(demo):
    data = Page(render_html(demo, "1")).data()
    strings = data["strings"]
    rows = [device for place in demo.places for device in place.devices]
    packed = [device for place in data["places"] for device in place[2]]
    for row, short in zip(rows, packed, strict=True):
        filled = short + [0] * (7 - len(short)) + [[]] * 3
        assert (strings[short[0]], strings[short[1]], strings[short[2]]) == (row.device, row.driver, row.pool)
        assert data["states"][short[3]][0] == row.state
        assert strings[filled[4]] == (row.product or "")
        assert len(filled[7]) == len(row.holders) and len(filled[8]) == len(row.taints)


def test_landmarks_headings_and_names(demo):
    page = Page(render_html(demo, "1"))
    names = [tag for tag, _ in page.elements]
    assert names.count("main") == names.count("header") == names.count("h1") == 1
    levels = [int(tag[1]) for tag in names if tag in ("h1", "h2", "h3", "h4")]
    assert all(after - before <= 1 for before, after in pairwise(levels))
    identifiers = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(identifiers) == len(set(identifiers))
    for attributes in page.all("section"):
        assert attributes["aria-labelledby"] in identifiers
    for link in page.all("a"):
        assert link["href"].removeprefix("#") in identifiers
    assert all(attributes["scope"] in ("col", "row") for attributes in page.all("th"))
    assert names.count("caption") == names.count("table")
    assert {"role": "status", "aria-live": "polite", "id": "count"} in page.all("p")
    assert page.all("html")[0]["lang"] == "en"
    # each field has a label around it
    assert names.count("label") == names.count("input") + names.count("select")


def test_it_asks_no_network(demo):
    page = Page(render_html(demo, "1"))
    for _, attributes in page.elements:
        assert not {"src", "srcset", "action", "style"} & attributes.keys()
        assert not any(name.startswith("on") for name in attributes)
    assert "default-src 'none'" in page.all("meta")[1]["content"]


HOSTILE = [
    "</script><script>alert(1)</script>",
    "<!--<script>",
    '"><img src=x onerror=alert(1)>',
    "' onmouseover='alert(1)",
    "]]></style><svg/onload=alert(1)>",
    "&lt;b&gt;",
    "\u2028\u202e\x00\x1b[31m\ud800",
]


@pytest.mark.parametrize("word", HOSTILE)
def test_names_of_the_cluster_make_no_elements(word):
    harmless, hostile = Page(render_html(made_up(), "1")), Page(render_html(made_up(word=word), "1"))
    assert [tag for tag, _ in hostile.elements] == [tag for tag, _ in harmless.elements]
    assert [sorted(one) for _, one in hostile.elements] == [sorted(one) for _, one in harmless.elements]
    assert hostile.misnested == []


@settings(max_examples=60, deadline=None)
@given(st.text(alphabet=st.one_of(st.sampled_from("<>&\"'/!-]=\\ \n`"), st.characters()), max_size=30))
def test_any_text_is_only_text(word):
    source = render_html(made_up(1, 1, word), "1")
    page = Page(source)
    assert [tag for tag, _ in page.elements] == [tag for tag, _ in Page(render_html(made_up(1, 1), "1")).elements]
    assert page.misnested == [] and page.open == []
    source.encode()
    if word.isprintable():
        assert f"detail{word}" in page.text("li")
        assert f"gpu-0{word}" in page.data()["strings"]


def test_what_is_not_seen_is_written_out():
    source = render_html(made_up(word="\u202ez"), "1")
    assert "\u202e" not in source and "\\u202ez" in source


@pytest.mark.parametrize("word", HOSTILE)
def test_markdown_is_only_text(word):
    text = render_markdown(made_up(word=word))
    assert "<" not in text and "\x1b" not in text
    assert len(text.splitlines()) == len(render_markdown(made_up()).splitlines())


def test_markdown_makes_no_links_mentions_or_cells():
    text = render_markdown(made_up(word="|a|![b](http://x.y) @team www.x.y `c`"))
    assert "http://" not in text and "@team" not in text and "![" not in text and "www." not in text
    rows = [line for line in text.splitlines() if line.startswith("| ")]
    assert rows and all(line.replace("\\|", "").count("|") in (3, 6) for line in rows)


def test_markdown_of_the_demo(demo):
    text = render_markdown(demo)
    assert "| gpu.nvidia.com | 79 | 37 | 1 | 35 | 4 | 8 |" in text
    assert "### ml/pair-on-h100-1 (97s)" in text
    assert "| h100-5 | cordoned |" in text
    errors = [item for item in demo.diagnosis.findings if item.severity is Severity.ERROR and item.code != "DRA230"]
    assert text.count("\n- **error ") == len(errors) > 2
    # for a ticket: what waits is told once, all of it on a few pages
    assert text.count("no usable GPU for gpu and NIC for nic on h100-1") == 1
    assert "dractl explain claim pair-on-h100-1 -n ml" in text
    assert "- for information: " in text and re.search(r"- \d+ checks were not made \(DRA701, ", text)
    assert len(text) < 13_000 and len(text.splitlines()) < 150
    assert "&gt;" not in text and "&amp;&amp;" not in text


def test_what_was_not_read_is_not_called_none():
    overview = made_up(0)
    overview.waiting, overview.claims = [], 0
    overview.unseen = {"ResourceClaim": "forbidden", "ResourceSlice": "forbidden"}
    for text in (Page(render_html(overview, "1")).text(), render_markdown(overview)):
        assert "devices not seen; claims not seen" in text
        assert "ResourceClaim could not be read: forbidden" in text
        assert "Claims were not seen." in text and "0 devices" not in text and "No pod" not in text


@pytest.fixture(scope="module")
def large() -> str:
    return render_html(made_up(5000, 8), "1")


def test_five_thousand_nodes_stay_small(large):
    assert len(large) < 6_000_000
    assert len(Page(large).elements) < 300  # rows are drawn a page at a time


def test_command_writes_both_forms(dractl, tmp_path):
    snapshot = tmp_path / "empty.yaml"
    snapshot.write_text("apiVersion: v1\nkind: Node\nmetadata: {name: alone}\n")
    page = tmp_path / "report.html"
    run = dractl("report", "-o", str(page), "--snapshot", str(snapshot))
    assert run.code == 0 and run.out == "" and f"written: {page}" in run.err
    assert "1 node;" in page.read_text()
    ticket = tmp_path / "report.md"
    assert dractl("report", "-o", str(ticket), "--snapshot", str(snapshot)).code == 0
    assert ticket.read_text().startswith("# DRA report")
    assert dractl("report", "-o", "md", "--snapshot", str(snapshot)).out == ticket.read_text()
    assert dractl("report", "-o", "-", "--snapshot", str(snapshot)).out.startswith("<!DOCTYPE html>")


def test_command_says_what_is_wrong(dractl, tmp_path):
    run = dractl("report", "-o", "report.pdf", "--demo")
    assert run.code == 2 and "does not tell the form" in run.err
    snapshot = tmp_path / "empty.yaml"
    snapshot.write_text("apiVersion: v1\nkind: Node\nmetadata: {name: alone}\n")
    run = dractl("report", "-o", str(tmp_path / "no" / "report.html"), "--snapshot", str(snapshot))
    assert run.code == 2 and "no/report.html: No such file" in run.err
    assert dractl("report", "--demo").code == 2


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    from render.browser import Browser

    found = Browser(CHROMIUM, tmp_path_factory.mktemp("profile"))
    yield found
    found.close()


def opened(browser, folder: Path, source: str) -> None:
    file = folder / "report.html"
    file.write_text(source, encoding="utf-8")
    browser.faults.clear()
    browser.requests.clear()
    browser.open(file)


ROWS = "document.querySelectorAll('#nodes > tbody > tr').length"
FILTER = "document.getElementById('text').value = 'claim-4999-'; document.getElementById('filter').requestSubmit()"
COUNT = "document.getElementById('count').textContent"


@browser_test
def test_browser_filters_and_opens_a_node(browser, demo, tmp_path):
    opened(browser, tmp_path, render_html(demo, "1"))
    assert browser.ask(COUNT) == "14 of 14 rows, 230 of 230 devices"
    assert browser.ask(ROWS) == 14
    browser.ask("document.querySelector('#nodes button').focus()")
    browser.press("Enter", 13)
    assert browser.ask("document.activeElement.getAttribute('aria-expanded')") == "true"
    assert "gpu.nvidia.com/a100-0/" in browser.ask("document.querySelector('.panel').textContent")
    assert browser.ask("document.querySelectorAll('.panel tbody tr').length") == 34
    heads = "[...document.querySelectorAll('.panel thead th')].map((one) => one.textContent).join()"
    assert browser.ask(heads) == "device,state,product,holders,why"  # no taint there
    browser.press("Enter", 13)
    assert browser.ask("document.querySelector('.panel')") is None
    browser.ask("document.getElementById('text').focus()")
    browser.call("Input.insertText", text="ml/whole-node")
    browser.wait(f"{COUNT}.startsWith('1 of 14 rows, 8 of')")
    browser.ask("document.querySelector('#filter [type=reset]').click()")
    browser.wait(f"{COUNT}.startsWith('14 of')")
    choose = "(id, value) => { const one = document.getElementById(id); one.value = [...one.options].find("
    choose += "(option) => option.text === value).value; one.dispatchEvent(new Event('change')); }"
    browser.ask(f"({choose})('state', 'tainted')")
    assert browser.ask(COUNT) == "2 of 14 rows, 7 of 230 devices"
    browser.ask(f"({choose})('driver', 'gpu.nvidia.com')")
    assert browser.ask(COUNT) == "1 of 14 rows, 1 of 230 devices"
    assert browser.faults == []
    assert [url for url in browser.requests if not url.startswith(("file:", "about:"))] == []


@browser_test
def test_browser_dark_and_narrow(browser, demo, tmp_path):
    opened(browser, tmp_path, render_html(demo, "1"))
    paper = "getComputedStyle(document.body).backgroundColor"
    browser.scheme("light")
    assert browser.ask(paper) == "rgb(255, 255, 255)"
    browser.scheme("dark")
    assert browser.ask(paper) == "rgb(20, 23, 26)"
    browser.ask("document.getElementById('theme').click()")
    assert browser.ask(paper) == "rgb(255, 255, 255)"
    browser.ask("document.getElementById('theme').click(); document.getElementById('theme').click()")
    keep = os.environ.get("DRACTL_PICTURES")
    browser.ask("document.querySelector('#nodes tr:nth-child(6) button').click()")
    for width in (1400, 400):
        browser.size(width, 1900)
        assert browser.ask("document.documentElement.scrollWidth") <= width
        if keep:
            browser.picture(Path(keep) / f"report-{width}.png")
    browser.size(1400)
    browser.scheme("light")
    assert browser.faults == []


@browser_test
@pytest.mark.skipif(not AXE.is_file(), reason="needs axe-core (npm install --no-save axe-core, or AXE_CORE)")
def test_browser_axe_finds_no_fault(browser, demo, tmp_path):
    opened(browser, tmp_path, render_html(demo, "1"))
    browser.ask(AXE.read_text(encoding="utf-8") + "\n;true")
    browser.ask("document.querySelector('#nodes tr:nth-child(6) button').click()")
    browser.ask("document.querySelector('details').open = true")
    told = "violations.map((one) => `${one.impact} ${one.id}: ${one.nodes[0].html} ${one.nodes[0].failureSummary}`)"
    told = f"axe.run().then((result) => [result.passes.length, result.{told}])"
    for width in (1400, 400):
        browser.size(width)
        for scheme in ("light", "dark"):
            browser.scheme(scheme)
            passed, found = browser.ask(told)
            assert found == [] and passed > 20, (width, scheme, found)
    browser.size(1400)
    browser.scheme("light")


WHERE = """(() => {
  const one = document.activeElement, style = getComputedStyle(one), box = one.getBoundingClientRect();
  return {
    name: one.id || one.getAttribute('aria-label') || one.textContent.trim(),
    tag: one.tagName, seen: style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 2,
    inside: box.width > 0 && box.top >= -2 && box.top < innerHeight,
  };
})()"""


@browser_test
def test_browser_with_the_keyboard_alone(browser, demo, tmp_path):
    opened(browser, tmp_path, render_html(demo, "1"))
    walked = []
    for _ in range(13):
        browser.press("Tab", 9)
        found = browser.ask(WHERE)
        assert found["seen"] and found["inside"], found
        walked.append(found["name"])
    # the order of the page: skip link, links, theme, totals, filter, map
    assert walked[0] == "Skip to the content"
    assert walked[1:6] == ["Fleet", "Pending claims", "Findings", "Limits", "theme"]
    assert walked[6] == "Devices by driver and state" and walked[7:12] == ["text", "driver", "state", "order", "Clear"]
    browser.press("Tab", 9)
    assert browser.ask(WHERE)["name"] == "a100-0"
    browser.press("Enter", 13)
    assert browser.ask("document.activeElement.getAttribute('aria-expanded')") == "true"
    browser.press("Tab", 9)  # into the table of devices, which may be scrolled
    assert browser.ask("document.activeElement.closest('.panel') !== null")
    browser.press("Escape", 27)
    assert browser.ask("document.querySelector('.panel')") is None
    assert browser.ask(WHERE)["name"] == "a100-0"
    browser.press("Enter", 13)
    browser.press("Escape", 27)
    assert browser.ask("document.activeElement.getAttribute('aria-expanded')") == "false"
    # the skip link leads past the head
    browser.ask("document.querySelector('.skip').focus()")
    browser.press("Enter", 13)
    assert browser.ask("document.activeElement.id") == "main"
    # details of a claim open with Enter
    browser.ask("document.querySelector('summary').focus()")
    browser.press("Enter", 13)
    assert browser.ask("document.querySelector('details').open")
    assert browser.faults == []


@browser_test
def test_browser_narrow_panel_shows_holders(browser, demo, tmp_path):
    opened(browser, tmp_path, render_html(demo, "1"))
    browser.size(400)
    browser.ask("document.querySelector('#nodes tr:nth-child(6) button').click()")
    box = "(() => { const box = [...document.querySelectorAll('.panel td')].find((one) => "
    box += "one.textContent.includes('ml/train-7')).getBoundingClientRect(); return [box.left, box.right]; })()"
    left, right = browser.ask(box)
    assert 0 <= left < right <= 400
    # and the totals need no scrolling sideways
    assert browser.ask("(() => { const one = document.querySelector('.wide'); return one.scrollWidth; })()") <= 400
    browser.size(1400)


@browser_test
def test_browser_prints_all_and_folds_it_again(browser, demo, tmp_path):
    opened(browser, tmp_path, render_html(demo, "1"))
    unfolded = "document.querySelectorAll('details[open]').length"
    browser.ask("window.addEventListener('afterprint', () => { window.printed = true; }, {once: true})")
    browser.ask(f"window.addEventListener('beforeprint', () => {{ window.during = {unfolded}; }}, {{once: true}})")
    browser.call("Page.printToPDF")
    browser.wait("window.printed")
    assert browser.ask("window.during") == len(demo.waiting) == 10
    assert browser.ask(unfolded) == 0
    assert browser.faults == []


@browser_test
def test_browser_runs_nothing_of_the_cluster(browser, tmp_path):
    for word in HOSTILE[:5]:
        opened(browser, tmp_path, render_html(made_up(word=word), "1"))
        browser.ask("document.querySelectorAll('#nodes button').forEach((one) => one.click())")
        assert browser.ask("document.querySelectorAll('script').length") == 2
        assert browser.ask("document.querySelectorAll('img, svg').length") == 0
        assert word in browser.ask("document.querySelector('.panel').textContent")
        assert browser.faults == []


@browser_test
def test_browser_shows_five_thousand_nodes(browser, tmp_path, large):
    opened(browser, tmp_path, large)
    assert browser.ask(COUNT) == "5,000 of 5,000 rows, 40,000 of 40,000 devices"
    assert browser.ask(ROWS) == 100
    browser.ask("document.querySelector('#pages button:not(:disabled)').click()")
    assert "node-100" in browser.ask("document.querySelector('#nodes tbody button').textContent")
    browser.ask(FILTER)
    assert browser.ask(COUNT) == "1 of 5,000 rows, 8 of 40,000 devices"
    assert browser.faults == []


@browser_test
@pytest.mark.benchmarks
def test_speed_of_five_thousand_nodes(browser, tmp_path):
    overview = made_up(5000, 8)
    begun = time.perf_counter()
    source = render_html(overview, "1")
    written = time.perf_counter() - begun
    opened(browser, tmp_path, source)
    browser.wait(f"{COUNT}.startsWith('5,000')")
    loaded = browser.ask("performance.timing.loadEventEnd - performance.timing.navigationStart")
    filtered = browser.ask(
        f"(() => {{ const begun = performance.now(); {FILTER}; return performance.now() - begun; }})()"
    )
    print(
        f"5,000 nodes, 40,000 devices: written in {written:.1f} s, loaded in {loaded} ms, filtered in {filtered:.0f} ms"
    )
    assert loaded < 3000
