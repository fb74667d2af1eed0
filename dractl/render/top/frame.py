"""What ``dractl top`` looks like: lines of styled pieces for a window of any size. Only what is visible is drawn."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby

from dractl.render.overview import STATE_MARKS
from dractl.render.top.board import Board, ClaimItem, FindingItem, Item, NodeItem, View, shown
from dractl.render.top.session import VIEWS, Session
from dractl.render.top.spans import Line, cut, fitted, length, plain, wrapped

_STATES = {mark: state for state, (mark, _) in STATE_MARKS.items()}
_KEYS = {
    "list": (("q", "quit"), ("/", "search"), ("s", "sort"), ("enter", "open"), ("tab", "next view"), ("?", "help")),
    "details": (("esc", "back"), ("n", "next"), ("p", "previous"), ("q", "quit"), ("?", "help")),
    "typing": (("enter", "keep"), ("esc", "show all")),
}
_HELP = (
    ("1 2 3, tab", "fleet, waiting claims, findings"),
    ("j k, arrows", "one line down, up"),
    ("PgDn PgUp, space", "one page down, up"),
    ("g G, Home End", "to the first, the last"),
    ("/", "search: all words, in everything that is known of an item"),
    ("esc", "end the search, go back"),
    ("enter", "all of a node, claim or finding; n and p: of the next and previous"),
    ("s", "next order"),
    ("t", "all totals, or as many as leave room"),
    ("r", "read the cluster again now"),
    ("q", "quit"),
)
_WORDS = {"counters-exhausted": "counters", "pool-incomplete": "incomplete", "node-missing": "missing"}
"""Short words above the columns of totals."""
_MARKER = "> "


def frame(session: Session, width: int, height: int, live: str = "", problem: str = "") -> list[Line]:
    """Exactly ``height`` lines of at most ``width`` columns.

    ``live`` says how fresh it all is, ``problem`` what went wrong at the last reading.
    """
    width, height = max(1, width), max(1, height)
    head = [_title(session.board, width, live), _tabs(session, width)][: max(0, height - 3)]
    room = max(0, height - len(head) - 1)
    if session.help:
        body, where = _text(session, _help(width), room)
    elif session.details and session.current is not None:
        body, where = _text(session, _details(session.current, width), room)
    else:
        body, where = _list(session, width, room)
    body += [[]] * (room - len(body))
    lines = [*head, *body, _foot(session, width, where, problem)]
    return [cut(_harmless(line), width) for line in lines]


def _harmless(line: Line) -> Line:
    """Nothing of the cluster may steer the terminal, wherever it came in."""
    return [(style, shown(text)) for style, text in line]


def whole(session: Session, width: int, views: Sequence[View] = VIEWS) -> list[Line]:
    """Everything, for paper and pipes: each view in full length, without cursor."""
    board = session.board
    lines: list[Line] = [_title(board, width, "")]
    for view in views:
        session.view = view
        lines += [[], [("title", _tab(board, view, session))]]
        lines += _totals(board, width, 10**6) if view is View.FLEET else []
        items = session.items()
        drawn = _Drawing(session, width, most=10**6)
        lines += [[], drawn.head] if view is View.FLEET and items else []
        for item in items:
            lines += [[("", "  "), *line] for line in drawn.lines(item)]
        lines += [[("dim", f"  {_nothing(session)}")]] if not items else []
    return [_harmless(line) for line in lines]


def _title(board: Board, width: int, live: str) -> Line:
    left: Line = [("title", board.source), ("", f"  Kubernetes {board.kubernetes}")]
    if board.taken and not live:
        live = board.taken
    space = width - length(left) - len(live)
    if space < 2:  # the release may go first, then the end of the source's name
        left = cut([("title", board.source)], max(1, width - len(live) - 2))
        space = width - length(left) - len(live)
    return [*left, ("", " " * max(1, space)), ("dim", live)]


def _tab(board: Board, view: View, session: Session) -> str:
    number = len(session.items(view))
    if view is View.FLEET:
        unseen = "Node" in board.unseen and not number
        return "Fleet ?" if unseen else f"Fleet {number:,}"
    if view is View.CLAIMS:
        if "ResourceClaim" in board.unseen and not number:
            return "Pending ?"
        more = sum(len(item.others) for item in session.items(view) if isinstance(item, ClaimItem))
        return f"Pending {number + more:,}"
    return f"Findings {_split(session.items(view))[0]:,}"


def _split(items: Sequence[Item]) -> tuple[int, int]:
    """How many items are findings (or anything else), and how many are notes."""
    notes = sum(isinstance(item, FindingItem) and not item.code for item in items)
    return len(items) - notes, notes


def _tabs(session: Session, width: int) -> Line:
    """The names of the views with their counts; in a narrow window without, at last only that of the one shown."""
    names = [_tab(session.board, view, session) for view in VIEWS]
    forms = [names, [name.partition(" ")[0] for name in names]]
    forms.append([name if view is session.view else "" for name, view in zip(forms[1], VIEWS, strict=True)])
    line: Line = []
    for form in forms:
        line = []
        for number, (name, view) in enumerate(zip(form, VIEWS, strict=True), start=1):
            style = "active" if view is session.view else "tab"
            line += [("", " " if line else ""), (style, f" {number} {name} " if name else f" {number} ")]
        if length(line) <= width:
            break
    order = f"by {session.order}"
    space = width - length(line) - len(order)
    return [*line, ("", " " * space), ("dim", order)] if space > 0 else line


def _list(session: Session, width: int, room: int) -> tuple[list[Line], str]:
    """The list on the screen with its totals, and which part of it is visible."""
    board, items = session.board, session.items()
    lines: list[Line] = []
    if session.view is View.FLEET and room >= 6:
        lines += _totals(board, width, room - 4 if session.all_totals else room // 3)
    drawing = _Drawing(session, width, most=2 if width >= 80 else 3)
    if session.view is View.FLEET and items and room >= 3:
        lines.append([("", " " * len(_MARKER)), *drawing.head])
    if not items:
        return [*lines, [("dim", _nothing(session))]][:room], ""
    place = session.place
    place.cursor = max(0, min(place.cursor, len(items) - 1))
    place.top, visible = _window(items, place.top, place.cursor, max(1, room - len(lines)), drawing.lines)
    session.page = max(1, len(visible))
    for number, rows in enumerate(visible, start=place.top):
        chosen = number == place.cursor
        for row, line in enumerate(rows):
            marked: Line = [("", _MARKER if chosen and row == 0 else " " * len(_MARKER)), *line]
            lines.append(_chosen(marked, width) if chosen else marked)
    notes = _split(items)[1] if session.view is View.FINDINGS and width >= 60 else 0
    more = f" ({notes:,} {'note' if notes == 1 else 'notes'})" if notes else ""
    last = place.top + len(visible)
    return lines[:room], f"{place.top + 1:,}-{last:,} of {len(items):,}{more}"


def _chosen(line: Line, width: int) -> Line:
    short = cut(line, width)
    short = [*short, ("", " " * (width - length(short)))]
    return [(f"{style} chosen".strip(), text) for style, text in short]


def _window(
    items: Sequence[Item], top: int, cursor: int, room: int, lines: Callable[[Item], list[Line]]
) -> tuple[int, list[list[Line]]]:
    """The first item shown and the lines of all that fit, so that the cursor's item is whole where it can be."""
    top = min(top, cursor)
    first, used = cursor, len(lines(items[cursor]))
    while first > top and used + (more := len(lines(items[first - 1]))) <= room:
        first, used = first - 1, used + more
    # after a resize there may be room above that nothing fills from below
    end = cursor + 1
    while end < len(items) and used < room:
        used, end = used + len(lines(items[end])), end + 1
    while end == len(items) and first > 0 and used + (more := len(lines(items[first - 1]))) <= room:
        first, used = first - 1, used + more
    out: list[list[Line]] = []
    left = room
    for item in items[first:]:
        drawn = lines(item)
        if len(drawn) > left and out:
            break
        out.append(drawn[:left])
        left -= len(drawn)
        if left <= 0:
            break
    return first, out


def _nothing(session: Session) -> str:
    if session.query:
        return f"Nothing matches {session.query!r}; esc shows all."
    unseen = session.board.unseen
    if session.view is View.FLEET:
        return "Nodes and devices were not seen." if unseen else "There are no nodes and no devices."
    if session.view is View.CLAIMS:
        hidden = [kind for kind in ("ResourceClaim", "Pod") if kind in unseen]
        return f"Not seen: {' and '.join(hidden)}." if hidden else "No pod waits for a claim."
    return "Nothing was found by the checks that were made."


class _Drawing:
    """How the items of one list become lines: columns are as wide as the longest names allow."""

    def __init__(self, session: Session, width: int, most: int) -> None:
        self.width = width - len(_MARKER)
        self.most = most
        widths = session.widths()
        self.name = min(max(widths.name, 4), max(12, (self.width - 10) * 2 // 5))
        self.free = max(widths.free, 4)
        self.devices = max(1, self.width - self.name - self.free - 4)
        self.labelled = widths.devices <= self.devices

    @property
    def head(self) -> Line:
        """The names of the columns of nodes."""
        return [("head", f"{fitted('NODE', self.name)}  {'FREE':>{self.free}}  DEVICES")]

    def lines(self, item: Item) -> list[Line]:
        """One item, in one line or a few."""
        if isinstance(item, NodeItem):
            return [self._node(item)]
        return self._claim(item) if isinstance(item, ClaimItem) else self._finding(item)

    def _node(self, item: NodeItem) -> Line:
        style = "bad" if item.bad else "warning" if item.remark else ""
        line: Line = [(style, fitted(item.name, self.name)), ("", f"  {f'{item.free}/{item.total}':>{self.free}}  ")]
        devices = _devices(item, self.devices - (2 + min(len(item.remark), 12) if item.remark else 0), self.labelled)
        if item.remark:
            devices += [("", "  " if devices else ""), (style, item.remark)]
        return line + devices

    def _claim(self, item: ClaimItem) -> list[Line]:
        head: Line = [("title", item.name)]
        if item.others:
            head.append(("", f" and {len(item.others):,} more like it"))
        if item.age:
            head.append(("dim", f"  {item.age}"))
        return [cut(head, self.width), *self._text(item.reason)]

    def _finding(self, item: FindingItem) -> list[Line]:
        head: Line = [(item.severity, item.severity), ("title", f" {item.code} {item.subject}".rstrip())]
        return [cut(head, self.width), *self._text(item.message)]

    def _text(self, text: str) -> list[Line]:
        rows = wrapped(text, max(1, self.width - 2))
        if len(rows) > self.most:
            rows = [*rows[: self.most - 1], plain(cut([("", " ".join(rows[self.most - 1 :]))], self.width - 2))]
        return [[("", f"  {row}")] for row in rows]


def _devices(item: NodeItem, width: int, labelled: bool) -> Line:
    """A mark for each device, by driver; where that is too long, how many are in each state."""
    line: Line = []
    short = sum(len(marks) + 1 for _, marks in item.groups) - 1
    labelled = labelled and short + sum(len(driver) + 2 for driver, _ in item.groups) <= width
    if short > width:
        counts = Counter("".join(marks for _, marks in item.groups))
        return _counts({state: counts[mark] for mark, state in _STATES.items()})
    for number, (driver, marks) in enumerate(item.groups):
        line.append(("", (" " * labelled + " ") if number else ""))
        if labelled:
            line.append(("dim", f"{driver} "))
        line += [(_STATES[mark], "".join(same)) for mark, same in groupby(marks)]
    return line


def _counts(counts: dict[str, int]) -> Line:
    line: Line = []
    for state, (mark, _) in STATE_MARKS.items():
        if counts.get(state):
            line += [("", " " if line else ""), (state, f"{counts[state]:,}{mark}")]
    return line


def _totals(board: Board, width: int, room: int) -> list[Line]:
    """Devices by driver and by class in each state."""
    rows = [*board.drivers.items()]
    marks = [(state, STATE_MARKS[state][0]) for state in board.states]
    if not rows or room < 2:
        return []
    every = [("DRIVER", None), *rows, *([("CLASS", None), *board.classes.items()] if board.classes else [])]
    longest = max(len(name) for name, _ in every)
    words = [f"{mark} {_WORDS.get(state, state)}" for state, mark in marks]
    letters = [mark for _, mark in marks]
    numbers = max(len(f"{number:,}") for number in board.states.values())
    label, form = min(longest, max(12, width // 3)), None
    for name_width, heads in ((longest, words), (min(longest, 14), words), (longest, letters), (14, letters)):
        if name_width + sum(2 + max(len(head), numbers) for head in heads) <= width:
            label, form = name_width, heads
            break
    lines: list[Line] = []
    for name, counts in every[: room if len(every) <= room else room - 1]:
        line: Line = [("head" if counts is None else "", fitted(name, label))]
        if form is None:
            line += [("", "  "), *_counts(counts or {})]
        else:
            for (state, _), head in zip(marks, form, strict=True):
                text = f"{counts.get(state, 0):,}" if counts is not None else head if name == "DRIVER" else ""
                style = "dim" if text == "0" else "head" if counts is None else state
                space = max(len(head), numbers) - len(text)
                line += [("", " " * (space + 2)), (style, text)]
        lines.append(line)
    left = len(every) - len(lines)
    if left:
        lines.append([("dim", f"... {left} more lines (t)")])
    return lines


def _details(item: Item, width: int) -> list[Line]:
    lines: list[Line] = []
    for style, text in item.details():
        lines += [[(style, row)] for row in wrapped(text, width)] if text else [[]]
    return lines


def _text(session: Session, lines: list[Line], room: int) -> tuple[list[Line], str]:
    """The part of a text that is scrolled to."""
    session.page = max(1, room)
    session.details_top = max(0, min(session.details_top, len(lines) - room))
    first = session.details_top
    return lines[first : first + room], f"{first + 1:,}-{min(len(lines), first + room):,} of {len(lines):,}"


def _help(width: int) -> list[Line]:
    lines: list[Line] = [[("head", "Keys")]]
    keys = max(len(key) for key, _ in _HELP)
    for key, text in _HELP:
        rows = wrapped(text, max(10, width - keys - 2))
        lines.append([("title", fitted(key, keys)), ("", f"  {rows[0]}")])
        lines += [[("", f"{' ' * keys}  {row}")] for row in rows[1:]]
    lines += [[], [("head", "Devices")]]
    for state, (mark, meaning) in STATE_MARKS.items():
        lines.append([(state, mark), ("", f"  {state}{'' if state == meaning else f': {meaning}'}")])
    return lines


def _foot(session: Session, width: int, where: str, problem: str) -> Line:
    if session.typing:
        line: Line = [("title", f"/{session.query}"), ("cursor", " "), ("", "  ")]
        return line + _keys("typing", width - length(line) - len(where) - 2) + [("dim", f"  {where}")]
    line = []
    if where:
        line.append(("", f"{where}  "))
    if session.query:
        line.append(("title", f"/{session.query}  "))
    if problem:
        return [("bad", problem), ("", "  "), *line]
    form = "details" if session.details else "list"
    return line + _keys(form, width - length(line))


def _keys(form: str, width: int) -> Line:
    line: Line = []
    for key, meaning in _KEYS[form]:
        more: Line = [("title", key), ("dim", f" {meaning}  ")]
        if length(line) + length(more) - 2 > width:
            break
        line += more
    return line


def lines_of(frame: Sequence[Line]) -> Iterator[str]:
    """A frame as plain text."""
    return (plain(line).rstrip() for line in frame)
