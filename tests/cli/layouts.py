"""The same object as YAML in many layouts: comments, anchors, flow style, quotes, wide indentation."""

from __future__ import annotations

import json
import random
from typing import Any

from dractl.sources.yamltext import plain_scalar


class Writer:
    """Writes values as a person might, by the throws of a random generator."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.step = rng.choice((2, 2, 4))
        self.wide_lists = rng.random() < 0.4
        self.chatty = rng.choice((0.0, 0.1, 0.4))
        self.flow = rng.choice((0.0, 0.1, 0.3))
        self.comments: list[str] = []
        self.anchors: dict[str, str] = {}

    def comment(self) -> str:
        text = f"# c{len(self.comments)} {self.rng.choice(('note', 'a: b', '- x', 'Source: chart/t.yaml', 'é'))}"
        self.comments.append(text)
        return text

    def above(self, indent: int) -> list[str]:
        return [" " * indent + self.comment()] if self.rng.random() < self.chatty else []

    def behind(self) -> str:
        return f"  {self.comment()}" if self.rng.random() < self.chatty else ""

    def scalar(self, value: Any) -> str:
        if isinstance(value, Raw):
            return value.text
        if not isinstance(value, str):
            return json.dumps(value)
        plain = (
            value and plain_scalar(value) == value and value[0].isalnum() and ": " not in value and " #" not in value
        )
        style = self.rng.choice("p'\"" if plain and "'" not in value else '"')
        return value if style == "p" else f"'{value}'" if style == "'" else json.dumps(value, ensure_ascii=False)

    def inline(self, value: Any, deep: int = 30) -> str:
        gap = "\n" + " " * deep if self.rng.random() < 0.1 else ""
        if isinstance(value, dict):
            pairs = [f"{key}: {self.inline(item)}" for key, item in value.items()]
            return "{" + gap + self.rng.choice((", ", ",  ")).join(pairs) + "}"
        if isinstance(value, list):
            return "[" + f", {gap}".join(self.inline(item) for item in value) + "]"
        return self.scalar(value)

    def anchored(self, value: Any, shown: str) -> str:
        """Sometimes an anchor for a text, and an alias where it comes again."""
        if not isinstance(value, str) or self.rng.random() > 0.15:
            return shown
        if value in self.anchors:
            return f"*{self.anchors[value]}"
        self.anchors[value] = f"a{len(self.anchors)}"
        return f"&{self.anchors[value]} {shown}"

    def lines(self, value: Any, indent: int) -> list[str]:
        """A mapping or list that is not empty, in block style."""
        out: list[str] = []
        if isinstance(value, dict):
            for key, item in value.items():
                out += self.above(indent)
                out += self.entry(f"{key}:", item, indent, isinstance(item, list) and not self.wide_lists)
        else:
            for item in value:
                out += self.above(indent)
                out += self.item(item, indent)
        return out

    def entry(self, head: str, item: Any, indent: int, beside: bool) -> list[str]:
        if self.rng.random() < 0.05:
            head = f'"{head[:-1]}":'
        blank = [""] if self.rng.random() < self.chatty / 3 else []
        if "expression" in head and self.rng.random() < 0.5:
            deep = " " * (indent + self.rng.choice((1, 2, 4)))
            words = str(item).split(" ")
            folded = self.rng.random() < 0.5 and len(words) > 2
            rows = [" ".join(words[:1]), " ".join(words[1:])] if folded else [str(item)]
            sign = ">-" if folded else "|-"
            return [*blank, " " * indent + f"{head} {sign}{self.behind()}", *(deep + row for row in rows)]
        return [*blank, *self._entry(head, item, indent, beside)]

    def _entry(self, head: str, item: Any, indent: int, beside: bool) -> list[str]:
        if not isinstance(item, dict | list):
            return [" " * indent + f"{head} {self.anchored(item, self.scalar(item))}{self.behind()}"]
        if not item or self.rng.random() < self.flow:
            return [" " * indent + f"{head} {self.inline(item)}{self.behind()}"]
        return [" " * indent + head + self.behind(), *self.lines(item, indent if beside else indent + self.step)]

    def item(self, item: Any, indent: int) -> list[str]:
        if not isinstance(item, dict | list):
            return [" " * indent + f"- {self.scalar(item)}{self.behind()}"]
        if not item or self.rng.random() < self.flow:
            return [" " * indent + f"- {self.inline(item)}{self.behind()}"]
        quiet, self.chatty = self.chatty, 0.0
        first = self.lines(dict(list(item.items())[:1]), indent + 2) if isinstance(item, dict) else []
        self.chatty = quiet
        rest = (
            self.lines(dict(list(item.items())[1:]), indent + 2)
            if isinstance(item, dict)
            else self.lines(item, indent + 2)
        )
        rows = [*first, *rest]
        return [" " * indent + "- " + rows[0].lstrip(), *rows[1:]]

    def document(self, value: Any) -> str:
        self.anchors.clear()
        head = [self.comment()] if self.rng.random() < 0.5 else []
        return "\n".join([*head, *self.lines(value, 0)]) + "\n"


class Raw:
    """A scalar as it is written, such as an unquoted ``010``."""

    def __init__(self, text: str) -> None:
        self.text = text
