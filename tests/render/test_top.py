"""``dractl top`` without a terminal: what keys do, and what the frames show (read goldens, in three sizes)."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dractl.diagnose.check import Context, Waiting
from dractl.explain.report import ClaimExplanation, FixView, NameView
from dractl.inventory import Key
from dractl.listing.rows import DeviceRow, HolderRow, NodeRow
from dractl.render.overview import STATE_MARKS, Place
from dractl.render.text.table import cell_width
from dractl.render.top.board import Board, FindingItem, View, _claim, _node, board_of
from dractl.render.top.frame import frame, lines_of, whole
from dractl.render.top.session import Session
from dractl.render.top.spans import STYLES, fitted, length, wrapped

GOLDEN = Path(__file__).parents[1] / "golden" / "top"
STATES = list(STATE_MARKS)


def made_up(nodes: int = 30, devices: int = 8, word: str = "") -> Board:
    """A board with every state of devices, a claim that stands for two, and a finding; ``word`` in every text."""
    items = []
    for number in range(nodes):
        rows = [
            DeviceRow(
                id=f"gpu.example.com/node-{number}/gpu-{one}",
                driver=f"gpu.example.com{word}",
                pool=f"node-{number}",
                device=f"gpu-{one}{word}",
                state=STATES[(number + one) % len(STATES)],
                node=f"node-{number}",
                holders=[HolderRow("ml", f"claim-{number}-{one}", "gpu", [f"pod-{number}"])],
            )
            for one in range(devices)
        ]
        taints = ["dedicated=a:NoSchedule"] if number == 3 else []
        node = NodeRow(f"node-{number}{word}", "NotReady" if number == 5 else "Ready", taints=taints)
        items.append(_node(Place(node.name, node, rows)))
    claim = ClaimExplanation(NameView("ml", f"big{word}"), "1.36", "pending", "", "doesNotFit", "")
    claim.summary = (
        f"Request gpu needs 16 GPUs on one node{word}, and no node that the pod may use has more than 8 that "
    )
    claim.summary += "match, free or not (4 nodes have 8); besides, 3 of them are in use, by ml/train-1 and ml/train-2."
    claim.age, claim.fixes = "5m", [FixView(f"ask for less{word}", "claim", [])]
    waiting = _claim(Waiting(claim, [Key("ml", f"big{word}"), Key("ml", "big-2")]), {})
    found = FindingItem("error", "DRA401", f"Pool gpu.example.com/node-1{word}", f"not whole{word}", "look at its log")
    counts = dict.fromkeys(STATES, nodes * devices // 8)
    return Board(
        f"made up{word}",
        "1.36",
        "",
        counts,
        {f"gpu.example.com{word}": counts},
        {f"gpu{word}": {"free": 3}},
        items,
        [waiting],
        [found, FindingItem("note", "", "", f"something was not looked at{word}")],
    )


@pytest.fixture(scope="module")
def demo() -> Board:
    from dractl.cli.explain import question_of
    from dractl.sources.snapshot import read_demo

    return board_of(Context(question_of(read_demo(), None)))


def text(session: Session, width: int = 100, height: int = 30, live: str = "", problem: str = "") -> str:
    return "\n".join(lines_of(frame(session, width, height, live, problem)))


def pressed(board: Board, *keys: str, height: int = 30) -> Session:
    """A session after keys; it is drawn after each, as on a screen."""
    session = Session(board)
    for key in keys:
        frame(session, 100, height)
        session.press(key)
    return session


def chosen(session: Session, width: int = 100, height: int = 30) -> str:
    """The text of the line with the cursor."""
    marked = [line for line in lines_of(frame(session, width, height)) if line.startswith("> ")]
    assert len(marked) == 1
    return marked[0][2:]


FLEET = {
    "fleet": (), "node": ("j", "enter"), "search": ("/", *"whole-node"), "nothing": ("/", *"nowhere", "enter"),
    "help": ("?",), "all-totals": ("t",), "most-trouble": ("s", "s", "end"),
}  # fmt: skip
"""Keys, and what they show of the recorded fleet: its devices, which no better wording changes."""
TEXTS = {
    "pending": ("2",), "findings": ("3",), "claim": ("2", "enter"), "finding": ("3", "enter"),
    "last": ("3", "end"),
}  # fmt: skip
"""The same of made-up claims and findings."""


@pytest.mark.parametrize(("width", "height"), [(100, 30), (80, 24), (40, 20)])
def test_frames(demo, width, height):
    found = []
    devices = replace(demo, claims=[], findings=[])
    shown_of = [(devices, name, keys) for name, keys in FLEET.items()]
    for board, name, keys in [*shown_of, *((made_up(), name, keys) for name, keys in TEXTS.items())]:
        session = Session(board)
        for key in keys:
            session.press(key)
        shown = text(session, width, height)
        found.append(f"=== {name}\n{shown}")
        assert len(shown.splitlines()) <= height
    file = GOLDEN / f"{width}x{height}.txt"
    content = "\n".join(found) + "\n"
    if os.environ.get("UPDATE"):
        file.write_text(content, encoding="utf-8")
    assert content == file.read_text(encoding="utf-8"), "read the difference, then run with UPDATE=1"


def test_counts_are_those_of_the_fleet(demo):
    assert len(demo.nodes) == 14
    assert sum(item.total for item in demo.nodes) == 230
    assert sum(item.free for item in demo.nodes) == 129 == demo.states["free"]
    for item in demo.nodes:
        marks = "".join(marks for _, marks in item.groups)
        assert len(marks) == item.total
        assert marks.count("F") == item.free
    assert demo.classes["rdma.dra.net"] and sum(demo.classes["dra.net"].values()) == 48
    assert sum(1 + len(item.others) for item in demo.claims) == 10


def test_the_cursor_moves_and_stays_within():
    board = made_up()
    assert chosen(pressed(board)).startswith("node-0 ")
    assert chosen(pressed(board, "up")).startswith("node-0 ")
    assert chosen(pressed(board, "down", "j", "k", "j")).startswith("node-2 ")
    assert chosen(pressed(board, "end")).startswith("node-29")
    assert chosen(pressed(board, "G", "down", "g")).startswith("node-0 ")
    session = pressed(board, "page-down")
    page = session.page
    assert chosen(session).startswith(f"node-{page - 1} ")  # one line of the page before stays in sight
    assert chosen(pressed(board, "page-down", "page-up")).startswith("node-0 ")
    assert chosen(pressed(board, " ", height=12), height=12).startswith("node-")


def test_names_are_in_the_order_of_their_numbers():
    names = [item.name for item in Session(made_up()).items()]
    assert names[:12] == [f"node-{number}" for number in range(12)]


def test_views_by_number_and_by_tab():
    board = made_up()
    assert pressed(board, "2").view is View.CLAIMS
    assert pressed(board, "3").view is View.FINDINGS
    assert pressed(board, "tab").view is View.CLAIMS
    assert pressed(board, "tab", "tab", "tab").view is View.FLEET
    assert pressed(board, "shift-tab").view is View.FINDINGS
    assert pressed(board, "left").view is View.FINDINGS and pressed(board, "right").view is View.CLAIMS
    # each list keeps its place
    assert chosen(pressed(board, "j", "j", "2", "1")).startswith("node-2 ")


def test_search_in_everything_that_is_known():
    board = made_up()
    session = pressed(board, "/", *"node-2")
    assert session.typing and [item.key for item in session.items()][:2] == ["node-2", "node-20"]
    assert [item.key for item in pressed(board, "/", *"ml/claim-7-3").items()] == ["node-7"]
    assert [item.key for item in pressed(board, "/", *"CLAIM-7 notready").items()] == []
    assert [item.key for item in pressed(board, "/", *"claim-5-1 notready").items()] == ["node-5"]
    assert [item.key for item in pressed(board, "/", *"dedicated").items()] == ["node-3"]
    session = pressed(board, "/", *"q1", "backspace", "backspace")
    assert session.query == "" and session.typing and not session.done
    assert not pressed(board, "/", *"q", "backspace", "backspace").typing
    kept = pressed(board, "/", *"node-7", "enter")
    assert kept.query == "node-7" and not kept.typing and "/node-7" in text(kept)
    assert len(pressed(board, "/", *"node-7", "enter", "escape").items()) == 30
    assert len(pressed(board, "/", *"node-7", "escape").items()) == 30
    # the same words in the other lists
    assert len(pressed(board, "/", *"node-1", "enter", "3").items()) == 1
    assert "Nothing matches 'zzz'" in text(pressed(board, "/", *"zzz", "enter"))


def test_orders():
    board = made_up()
    board.nodes[7].free, board.nodes[9].trouble = 99, 99
    assert chosen(pressed(board, "s")).startswith("node-7 ")
    assert chosen(pressed(board, "s", "s")).startswith("node-9 ")
    assert chosen(pressed(board, "s", "s", "s")).startswith("node-0 ")
    assert "by most free" in text(pressed(board, "s"))
    # a finding before what only limits the picture
    assert [item.severity for item in pressed(board, "3").items()] == ["error", "note"]


def test_details_open_scroll_and_close(demo):
    session = pressed(demo, "j", "enter")
    assert session.details and text(session).splitlines()[2] == "a100-1"
    assert "a100-2" in text(pressed(demo, "j", "enter", "n"))
    assert "a100-0" in text(pressed(demo, "j", "enter", "p"))
    assert text(pressed(demo, "enter", "end")) != text(pressed(demo, "enter"))
    for back in ("escape", "enter", "left", "backspace"):
        assert not pressed(demo, "enter", back).details
    assert pressed(demo, "enter", "2").view is View.CLAIMS
    assert "dractl explain claim pair-on-h100-1 -n ml" in text(pressed(demo, "2", "enter"), 100, 200)
    assert "drop nodeSelector kubernetes.io/hostname=h100-1" in text(pressed(demo, "2", "enter"), 100, 200)
    assert not pressed(made_up(0), "enter").details


def test_quit_help_and_reload():
    board = made_up(2)
    assert pressed(board, "q").done
    assert pressed(board, "?", "q").done
    assert pressed(board, "enter", "q").done
    session = pressed(board, "?")
    assert "search: all words" in text(session)
    assert not pressed(board, "?", "x").help and pressed(board, "?", "j").help
    assert "node-missing: the node" in text(pressed(board, "?", "end"), 40, 12)
    assert pressed(board, "r").reload
    assert not pressed(board, "/", "r").reload


def test_a_refresh_leaves_the_cursor_on_its_item():
    session = pressed(made_up(), *["down"] * 25)
    before = frame(session, 100, 20)
    new = made_up()
    del new.nodes[2:5]
    session.show(new)
    assert chosen(session, 100, 20).startswith("node-25 ")
    row = [line.startswith("> ") for line in lines_of(before)].index(True)
    after = [line.startswith("> ") for line in lines_of(frame(session, 100, 20))].index(True)
    assert row == after  # it does not jump
    # what is gone is left at its place, and at the top one stays at the top
    del new.nodes[22]
    session.show(new)
    assert chosen(session, 100, 20).startswith("node-26 ")
    top = pressed(made_up())
    new = made_up()
    new.nodes.insert(0, _node(Place("a", NodeRow("a", "Ready"), [])))
    top.show(new)
    assert chosen(top).startswith("a ")


def test_details_end_when_their_item_is_gone():
    session = pressed(made_up(), "down", "enter")
    new = made_up()
    session.show(new)
    assert session.details
    del new.nodes[1]
    session.show(new)
    assert not session.details


def test_how_fresh_it_is_and_what_went_wrong():
    session = Session(made_up())
    shown = text(session, 80, 20, live="as of 3s ago")
    assert shown.splitlines()[0].endswith("as of 3s ago")
    shown = text(session, 80, 20, live="as of 90s ago", problem="the API server does not answer")
    assert shown.splitlines()[-1].startswith("the API server does not answer")


def test_what_was_not_seen_is_not_called_none():
    board = made_up(0)
    board.claims, board.findings, board.unseen = [], [], {"ResourceClaim": "forbidden", "Node": "forbidden"}
    assert "Fleet ?" in text(Session(board)) and "Pending ?" in text(Session(board))
    assert "Nodes and devices were not seen." in text(Session(board))
    assert "Not seen: ResourceClaim." in text(pressed(board, "2"))


KEYS = st.sampled_from(
    ["up", "down", "page-up", "page-down", "home", "end", "tab", "shift-tab", "enter", "escape", "backspace", "/", "s",
     "t", "?", "1", "2", "3", "n", "p", "j", "k", "r", "g", "G", "ctrl-u", "d", " "]
)  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(st.lists(KEYS, max_size=25), st.integers(1, 130), st.integers(1, 45), st.sampled_from(["", "é漢字", "x" * 60]))
def test_any_keys_in_any_window_keep_the_frame(keys, width, height, word):
    session = Session(made_up(12, 5, word))
    for key in keys:
        session.press(key)
        lines = frame(session, width, height, "as of 3s ago")
        assert len(lines) == height
        assert all(length(line) <= width for line in lines)
        assert all(name in STYLES or name in ("", *STATES) for line in lines for one, _ in line for name in one.split())


def test_wide_characters_count_twice():
    assert cell_width(fitted("漢字漢字漢字", 7)) == 7
    assert all(cell_width(row) <= 9 for row in wrapped("漢字漢字漢字 漢字 ab漢字漢字漢", 9))
    assert fitted("high-performance-gpu", 11) == "high-…e-gpu"


def test_names_of_the_cluster_cannot_steer_the_terminal():
    board = made_up(2, 2, "\x1b[2J\u202e")
    session = Session(board)
    for key in ("1", "enter", "escape", "2", "enter", "escape"):
        session.press(key)
        assert "\x1b" not in text(session) and "\u202e" not in text(session)
    assert "\x1b" not in "".join(lines_of(whole(session, 100)))


def test_only_what_is_visible_is_drawn(monkeypatch):
    drawn = []
    session = Session(made_up(5000, 4))
    frame(session, 100, 30)
    from dractl.render.top import frame as module

    real = module._Drawing.lines
    monkeypatch.setattr(module._Drawing, "lines", lambda self, item: drawn.append(item) or real(self, item))
    for key in ("page-down", "end", "up", "page-up"):
        drawn.clear()
        session.press(key)
        frame(session, 100, 30)
        assert len(drawn) < 100


def test_the_whole_picture_for_pipes(demo):
    lines = list(lines_of(whole(Session(demo), 100)))
    for word in ("Fleet 14", "Pending 10", "h100-gone", "ml/pair-on-h100-1", "DRA401 Pool gpu.nvidia.com/h100-3"):
        assert any(word in line for line in lines)
    assert not any(line.startswith("> ") or "…" in line for line in lines)


@pytest.mark.benchmarks
def test_speed_of_five_thousand_nodes():
    import time

    session = Session(made_up(5000, 16))
    frame(session, 120, 50)
    times = []
    for number in range(300):
        begun = time.perf_counter()
        session.press("page-down" if number % 3 == 0 else "j")
        frame(session, 120, 50)
        times.append(time.perf_counter() - begun)
    session.press("/")
    begun = time.perf_counter()
    session.press("7")
    frame(session, 120, 50)
    search = time.perf_counter() - begun
    print(f"\n5,000 nodes: {sum(times) / 300 * 1000:.1f} ms a key, at most {max(times) * 1000:.0f} ms; ", end="")
    print(f"first letter of a search {search * 1000:.0f} ms")
