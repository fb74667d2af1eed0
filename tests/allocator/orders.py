"""Answers under every order of pools: 1.34, 1.35 and the stable allocator choose one at random."""

from __future__ import annotations

import itertools
import json
import random
import re
from collections.abc import Iterator
from typing import Any

from kind_allocator import cluster, read

from dractl.allocator import Allocator, NodeResult, Profile, search
from dractl.allocator.counters import Cache, CounterBook
from dractl.allocator.pools import GatherError, Pool, PoolGatherer
from dractl.allocator.state import AllocatedState
from dractl.kube import encode
from dractl.kube.objects import Node, ResourceClaim

_ALL_ORDERS = 7
_SAMPLE = 5000
"""More pools have too many orders: so many are tried then."""

Orders = dict[str, tuple[int, ...]]
"""Orders of pools by node, as positions."""


def determined(answers: Any) -> Any:
    """Without what Kubernetes' code leaves to chance: which of several bad attributes it meets first, and the
    addresses in memory with which it prints a whole device."""
    faults = r"attribute \S+: (unsupported attribute value|parse semantic version: [A-Z][A-Za-z. ]*)"
    text = re.sub(faults, "attribute *: no value", json.dumps(answers))
    text = re.sub(r"for device &Device\{Name:([^,]*),.*?\} in slice ", r"for device \1 in slice ", text)
    return json.loads(text)


class Shuffled:
    """A recorded input, answered with the pools of its nodes in chosen orders."""

    def __init__(self, given: dict[str, Any], profile: Profile) -> None:
        self.allocator = Allocator(profile, *cluster(given))
        self.claims: list[ResourceClaim] = read(given["claims"], ResourceClaim)
        self.nodes: list[Node] = read(given["nodes"], Node)

    def any_order(self, expected: dict[str, Any]) -> bool:
        """Whether the expected answers come out under some orders."""
        return all(self._alone(node, expected) for node in self.nodes) or self._together(expected)

    def _alone(self, node: Node, expected: dict[str, Any]) -> bool:
        name = node.meta.name
        return any(self.answers([node], {name: order})[0][name] == expected[name] for order in self.orders(node))

    def _together(self, expected: dict[str, Any]) -> bool:
        """Node by node: what one node has seen of counters may count for the next, so orders that agree so far are
        kept once for each state of that memory."""
        agreeing: dict[str, Orders] = {"": {}}
        for number, node in enumerate(self.nodes):
            name = node.meta.name
            found: dict[str, Orders] = {}
            for orders in agreeing.values():
                for order in self.orders(node):
                    chosen = {**orders, name: order}
                    answers, memory = self.answers(self.nodes[: number + 1], chosen)
                    if answers[name] == expected[name]:
                        found.setdefault(memory, chosen)
            if not found:
                return False
            agreeing = found
        return True

    def crashes(self, text: str) -> bool:
        """Whether kube-scheduler crashes on some node under some order."""
        crash = {"error": f"panic: {text}"}
        return any(
            self.answers([node], {node.meta.name: order})[0][node.meta.name] == crash
            for node in self.nodes
            for order in self.orders(node)
        )

    def orders(self, node: Node) -> Iterator[tuple[int, ...]]:
        """Every order of a node's pools."""
        try:
            count = len(self.allocator.gatherer.gather(node))
        except GatherError:
            count = 0
        if count <= _ALL_ORDERS:
            return itertools.permutations(range(count))
        chance = random.Random(count)
        return iter([tuple(chance.sample(range(count), count)) for _ in range(_SAMPLE)])

    def answers(self, nodes: list[Node], orders: Orders) -> tuple[dict[str, Any], str]:
        """The answers for some nodes, and what is remembered of counters afterwards."""
        original = PoolGatherer.gather
        memories: list[Cache] = []

        class Remembered(CounterBook):
            def __init__(self, profile: Profile, state: AllocatedState, cache: Cache) -> None:
                super().__init__(profile, state, cache)
                memories.append(cache)

        def gather(gatherer: PoolGatherer, node: Node) -> list[Pool]:
            found = original(gatherer, node)
            order = orders.get(node.meta.name)
            return found if not order else sorted((found[i] for i in order), key=lambda pool: pool.binding)

        PoolGatherer.gather = gather  # type: ignore[method-assign]
        search.CounterBook = Remembered  # type: ignore[misc]
        try:
            results = self.allocator.allocate_nodes(self.claims, nodes)
        finally:
            PoolGatherer.gather = original  # type: ignore[method-assign]
            search.CounterBook = CounterBook  # type: ignore[misc]
        return {name: shown(result) for name, result in results.by_node.items()}, repr(memories[-1:])


def shown(result: NodeResult) -> Any:
    """An answer in the form of the recorded ones."""
    if result.error is not None:
        return determined({"error": result.error})
    return None if result.allocations is None else [encode.allocation(item) for item in result.allocations]
