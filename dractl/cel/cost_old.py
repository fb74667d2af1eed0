"""The cost estimate of Kubernetes 1.32, which knows less of sizes than later ones. Source: cel-go 0.22's cost.go."""

from __future__ import annotations

from dractl.cel.ast import Comprehension, Ident, ListExpr, MapExpr, Node
from dractl.cel.checked import Checked
from dractl.cel.cost_range import FREE, Range
from dractl.cel.cost_sizes import Path, declared_size
from dractl.cel.cost_static import EntrySizes, Estimator, Operand, is_scalar, literal_size
from dractl.cel.environment import Environment
from dractl.cel.types import Kind

_ONE = Range(1, 1)
_LIST_BASE = Range(10, 10)
_MAP_BASE = Range(30, 30)


class OldEstimator(Estimator):
    """No sizes of what lists and maps hold, no variables of ``cel.bind``, nothing special about ``dyn``."""

    def __init__(self, checked: Checked, env: Environment) -> None:
        super().__init__(checked, env)
        self._ranges: dict[str, list[Node]] = {}
        self._sees_through_dyn = False

    def _path(self, node: Node) -> Path:
        return self._paths.get(node.id, Path())

    def _size(self, node: Node) -> Range | None:
        return self._sizes.get(node.id) or literal_size(node)

    def _entry_sizes(self, node: Node) -> EntrySizes | None:
        return None

    def _known_size(self, node: Node) -> Range | None:
        size = self._size(node) or declared_size(self._path(node), self._env)
        each = self._type(node)
        return size or (_ONE if is_scalar(each) and not each.is_optional else None)

    def _operand(self, node: Node) -> Operand:
        path = self._path(node)
        if path.first == "__result__":
            path = Path()
        return Operand(node, self._type(node), path, self._size(node), self._known_size(node))

    def _ident(self, node: Ident) -> Range:
        ranges = self._ranges.get(node.name)
        if not ranges:
            self._paths[node.id] = Path.start(node.name)
            return _ONE
        step = {Kind.LIST: "@items", Kind.MAP: "@keys"}.get(self._type(ranges[-1]).kind)
        if step:
            self._paths[node.id] = self._path(ranges[-1]).step(step)
        return _ONE

    def _list(self, node: ListExpr) -> Range:
        total = FREE
        for element in node.elements:
            total = total.add(self.cost(element))
        return total.add(_LIST_BASE)

    def _map(self, node: MapExpr) -> Range:
        total = FREE
        for entry in node.entries:
            assert entry.key is not None
            total = total.add(self.cost(entry.key)).add(self.cost(entry.value))
        return total.add(_MAP_BASE)

    def _comprehension(self, node: Comprehension) -> Range:
        total = self.cost(node.iter_range).add(self.cost(node.accu_init))
        self._ranges.setdefault(node.iter_var, []).append(node.iter_range)
        each = self.cost(node.loop_condition)
        each = self.cost(node.loop_step).add(each)
        self._ranges[node.iter_var].pop()
        total = total.add(self.cost(node.result))
        count = self._operand(node.iter_range).known or Range(0, 2**64 - 1)
        self._sizes[node.id] = count
        return total.add(count.multiply(each))
