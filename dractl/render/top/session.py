"""What the keys of ``dractl top`` do: which list is shown, what is searched for, where the cursor is. No terminal."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from dractl.render.top.board import Board, ClaimItem, FindingItem, Item, NodeItem, View, natural

VIEWS = tuple(View)
_RANKS = {"error": 0, "warning": 1, "info": 2, "note": 3}


def _name(item: Item) -> tuple[object, ...]:
    return natural(item.key)


def _free(item: Item) -> tuple[object, ...]:
    assert isinstance(item, NodeItem)
    return (-item.free,)


def _trouble(item: Item) -> tuple[object, ...]:
    assert isinstance(item, NodeItem)
    return (-item.trouble,)


def _created(item: Item) -> tuple[object, ...]:
    assert isinstance(item, ClaimItem)
    return (not item.created, item.created, natural(item.name))


def _severity(item: Item) -> tuple[object, ...]:
    assert isinstance(item, FindingItem)
    return (_RANKS[item.severity], item.code, natural(item.subject))


def _code(item: Item) -> tuple[object, ...]:
    assert isinstance(item, FindingItem)
    return (not item.code, item.code, natural(item.subject))


def _subject(item: Item) -> tuple[object, ...]:
    assert isinstance(item, FindingItem)
    return (not item.subject, natural(item.subject), item.code)


Order = tuple[str, Callable[[Item], tuple[object, ...]] | None]

ORDERS: dict[View, tuple[Order, ...]] = {
    View.FLEET: (("name", None), ("most free", _free), ("most trouble", _trouble)),
    View.CLAIMS: (("oldest", _created), ("name", _name)),
    View.FINDINGS: (("worst", _severity), ("code", _code), ("subject", _subject)),
}
"""In which orders each list can be shown, the first one at the start. None: that of the board; it also breaks ties."""


@dataclass(slots=True)
class Place:
    """Where one list stands: the cursor, the first line shown, the order's number."""

    cursor: int = 0
    top: int = 0
    order: int = 0


@dataclass(frozen=True, slots=True)
class Widths:
    """The greatest widths among the nodes of a list: names, counts, devices with their drivers' names."""

    name: int
    free: int
    devices: int

    @staticmethod
    def of(items: Sequence[Item]) -> Widths:
        """Measure a list; other items than nodes have no columns."""
        nodes = [item for item in items if isinstance(item, NodeItem)]
        devices = (sum(len(driver) + len(marks) + 3 for driver, marks in item.groups) - 2 for item in nodes)
        return Widths(
            max((len(item.name) for item in nodes), default=4),
            max((len(f"{item.free}/{item.total}") for item in nodes), default=4),
            max(devices, default=0),
        )


@dataclass(slots=True)
class Session:
    """What is on the screen. ``page`` is how many lines of the list (or of the details) were last drawn."""

    board: Board
    view: View = View.FLEET
    query: str = ""
    typing: bool = False
    details: bool = False
    details_top: int = 0
    help: bool = False
    all_totals: bool = False
    page: int = 10
    done: bool = False
    reload: bool = False
    """Whether a new reading was asked for; whoever reads sets it back."""
    places: dict[View, Place] = field(default_factory=lambda: {view: Place() for view in VIEWS})
    _shown: dict[tuple[View, str, int], list[Item]] = field(default_factory=dict)
    _widths: tuple[Sequence[Item], Widths] | None = None

    @property
    def place(self) -> Place:
        """Where the list on the screen stands."""
        return self.places[self.view]

    @property
    def order(self) -> str:
        """The name of the order of the list on the screen."""
        return ORDERS[self.view][self.place.order][0]

    @property
    def current(self) -> Item | None:
        """The item under the cursor; None where the list is empty."""
        items = self.items()
        return items[min(self.place.cursor, len(items) - 1)] if items else None

    def items(self, view: View | None = None) -> Sequence[Item]:
        """A list (the one on the screen) as searched and ordered. Kept until one of these changes."""
        view = view or self.view
        order = self.places[view].order
        key = (view, self.query.strip().lower(), order)
        found = self._shown.get(key)
        if found is None:
            words = key[1].split()
            every = self.board.items(view)
            found = [item for item in every if not words or all(word in item.searched() for word in words)]
            by = ORDERS[view][order][1]
            if by is not None:
                found.sort(key=by)
            self._shown = {one: items for one, items in self._shown.items() if one[0] is not view}
            self._shown[key] = found
        return found

    def widths(self) -> Widths:
        """The widths of the list on the screen. Kept as long as the list is."""
        items = self.items()
        if self._widths is None or self._widths[0] is not items:
            self._widths = (items, Widths.of(items))
        return self._widths[1]

    def show(self, board: Board) -> None:
        """Go on with a new state of the cluster; the cursors stay on their items."""
        chosen = {}
        for view in VIEWS:
            items, place = self.items(view), self.places[view]
            if items and place.cursor:  # at the top one stays at the top
                chosen[view] = items[min(place.cursor, len(items) - 1)].key
        gone = self.current.key if self.details and self.current is not None else None
        self.board = board
        self._shown.clear()
        for view in VIEWS:
            items, place = self.items(view), self.places[view]
            above = place.cursor - place.top
            found = [number for number, item in enumerate(items) if item.key == chosen.get(view)]
            place.cursor = found[0] if found else max(0, min(place.cursor, len(items) - 1))
            place.top = max(0, place.cursor - above)
        if gone is not None and (self.current is None or self.current.key != gone):
            self.details = False

    def press(self, key: str) -> None:
        """One key: a character, or a name such as ``up``, ``page-down``, ``enter``, ``escape``, ``tab``."""
        if self.typing:
            self._typed(key)
        elif self.help:
            if not self._scroll(key):
                self.help = False
                self.done = key == "q"
        elif self.details:
            self._in_details(key)
        else:
            self._in_list(key)

    def _typed(self, key: str) -> None:
        if key == "enter":
            self.typing = False
        elif key in ("escape", "ctrl-u"):
            self.typing = key == "ctrl-u"
            self.search("")
        elif key == "backspace":
            self.typing = bool(self.query)
            self.search(self.query[:-1])
        elif key in ("up", "down", "page-up", "page-down"):
            self._move(key)
        elif len(key) == 1:
            self.search(self.query + key)

    def search(self, query: str) -> None:
        """Show only what holds all words of ``query``, in all lists."""
        if query != self.query:
            self.query = query
            for place in self.places.values():
                place.cursor = place.top = 0

    def _scroll(self, key: str) -> bool:
        """Scroll a text; whether the key does that."""
        steps = {"up": -1, "k": -1, "down": 1, "j": 1, "page-up": -self.page, "page-down": self.page, " ": self.page,
                 "home": -(10**9), "g": -(10**9), "end": 10**9, "G": 10**9}  # fmt: skip
        if key in steps:
            self.details_top = max(0, self.details_top + steps[key])
        return key in steps

    def _in_details(self, key: str) -> None:
        if self._scroll(key):
            return
        if key in ("escape", "enter", "left", "backspace", "h"):
            self.details = False
        elif key in ("n", "p"):
            self._move("down" if key == "n" else "up")
            self.details_top = 0
        elif key in ("tab", "shift-tab", "1", "2", "3"):
            self.details = False
            self._in_list(key)
        else:
            self._anywhere(key)

    def _in_list(self, key: str) -> None:
        if key in ("tab", "right", "shift-tab", "left"):
            step = 1 if key in ("tab", "right") else -1
            self.view = VIEWS[(VIEWS.index(self.view) + step) % len(VIEWS)]
        elif key in ("1", "2", "3"):
            self.view = VIEWS[int(key) - 1]
        elif key == "/":
            self.typing = True
        elif key == "escape":
            self.search("")
        elif key == "enter":
            self.details, self.details_top = self.current is not None, 0
        elif key == "s":
            place = self.place
            place.order = (place.order + 1) % len(ORDERS[self.view])
            place.cursor = place.top = 0
        elif key == "t":
            self.all_totals = not self.all_totals
        elif not self._move(key):
            self._anywhere(key)

    def _anywhere(self, key: str) -> None:
        if key == "q":
            self.done = True
        elif key == "?":
            self.help, self.details_top = True, 0
        elif key == "r":
            self.reload = True

    def _move(self, key: str) -> bool:
        """Move the cursor; whether the key does that."""
        last, page = max(0, len(self.items()) - 1), max(1, self.page - 1)
        cursor = min(self.place.cursor, last)
        goals = {"up": cursor - 1, "k": cursor - 1, "down": cursor + 1, "j": cursor + 1, "page-up": cursor - page,
                 "page-down": cursor + page, " ": cursor + page, "home": 0, "g": 0, "end": last, "G": last}  # fmt: skip
        if key not in goals:
            return False
        self.place.cursor = max(0, min(last, goals[key]))
        return True
