"""Walking over a syntax tree."""

from __future__ import annotations

from collections.abc import Iterator

from dractl.cel.ast import Call, Comprehension, ListExpr, MapExpr, Node, Select, StructExpr


def children(node: Node) -> list[Node]:
    """The nodes directly below a node, in cel-go's order."""
    match node:
        case Select(operand=operand):
            return [operand]
        case Call(args=args, target=target):
            return [target, *args] if target is not None else args
        case ListExpr(elements=elements):
            return elements
        case MapExpr(entries=entries):
            return [part for entry in entries for part in (entry.key, entry.value) if part is not None]
        case StructExpr(entries=entries):
            return [entry.value for entry in entries]
        case Comprehension():
            return [node.iter_range, node.accu_init, node.loop_condition, node.loop_step, node.result]
    return []


def bottom_up(root: Node) -> Iterator[Node]:
    """All nodes, each after the nodes below it."""
    stack: list[tuple[Node, bool]] = [(root, False)]
    while stack:
        node, seen = stack.pop()
        if seen:
            yield node
            continue
        stack.append((node, True))
        stack.extend((child, False) for child in reversed(children(node)))


def positions(root: Node) -> dict[int, int]:
    """Position by node id."""
    return {node.id: node.pos for node in bottom_up(root)}
