"""Where kube-scheduler departs from what the API promises: named, with the releases that do it and the public fix.

The search in this package is correct by itself; each quirk that a profile carries switches one departure on. Sources:
``k8s.io/dynamic-resource-allocation/structured`` and ``resourceslice/tracker`` of 1.34.4, 1.35.4, 1.36.2 and 1.37.2,
and the issues and pull requests named.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

Version = tuple[int, int, int]

STABLE = "stable"
INCUBATING = "incubating"
EXPERIMENTAL = "experimental"
_ALL = frozenset({STABLE, INCUBATING, EXPERIMENTAL})
_NEWER = frozenset({INCUBATING, EXPERIMENTAL})

COUNTERS_LEAK = "counters-leak"
SHARED_COUNTERS_KEPT = "shared-counters-kept"
CAPACITY_RECHECK_LEAK = "capacity-recheck-leak"
SHARES_CHARGED_AGAIN = "shares-charged-again"
EACH_SHARE_CHARGED = "each-share-charged"
SHARES_OVERLOOKED = "shares-overlooked"
SHARES_FREE_COUNTERS = "shares-free-counters"
DISTINCT_FORGETS = "distinct-forgets"
DISTINCT_BLIND = "distinct-blind"
MATCH_STAYS_NARROW = "match-stays-narrow"
COUNTERS_BY_POOL_NAME = "counters-by-pool-name"
COUNTERS_BY_SLICE = "counters-by-slice"
COUNTERS_CACHED = "counters-cached-across-nodes"
COUNTER_SLICES_EVERYWHERE = "counter-slices-everywhere"
OVERDRAWN_BLOCKS_POOL = "overdrawn-counter-blocks-pool"
ALL_LEAVES_OUT_FULL = "all-leaves-out-full-devices"
CAPACITY_UNCHECKED = "capacity-arithmetic-unchecked"
ZERO_STEP_PANIC = "zero-step-panic"
HUGE_COUNTS_PANIC = "huge-counts-panic"
CONFIG_REPEATED = "config-repeated"
ADMIN_BLOCKS = "admin-blocks-other-claims"
ADMIN_NEEDS_COUNTERS = "admin-needs-counters"
STALE_GENERATION = "stale-generation"
SELECTORS_BEFORE_NODE = "selectors-before-node"
UNORDERED = "unordered-pools"
PERMUTATIONS = "permutations"
BINDING_SLICES_LAST = "binding-slices-last"
ALL_FALLS_BACK = "all-falls-back-to-first-alternative"
ALL_SHARES_SELECTION = "all-alternatives-share-selection"
ALL_COUNTERS_PANIC = "all-with-counters-panics"
INCOMPLETE_USED = "incomplete-pools-used"
INVALID_POOL_ABORTS = "invalid-pool-aborts"
NODE_ONLY_COMPLETENESS = "completeness-by-node"
TOLERATIONS_NOT_COPIED = "tolerations-not-copied"
EVERY_TAINT_BLOCKS = "every-taint-blocks"
CAPACITY_OF_ANOTHER_DEVICE = "capacity-of-another-device"
TAINT_RULES_UNSEEN = "taint-rules-unseen"
TAINT_RULE_WITHOUT_SELECTOR = "taint-rule-without-selector"
LIST_ATTRIBUTES_UNUSED = "list-attributes-unused"


@dataclass(frozen=True, slots=True)
class Quirk:
    """One departure. ``fixed`` is the first version without it, None where none is known."""

    name: str
    since: Version
    fixed: Version | None
    effect: str
    """What happens, in one sentence."""
    fix: str = ""
    """The public issue or pull request, or empty."""
    advice: str = ""
    """What helps until then."""
    variants: frozenset[str] = _ALL
    """The copies of the allocator that have it."""

    def applies(self, version: Version, variant: str) -> bool:
        """Whether a version's variant of the allocator has the quirk."""
        return self.since <= version and (self.fixed is None or version < self.fixed) and variant in self.variants


_ROLLBACK = "kubernetes/kubernetes#140436, fixed by #140431"
_V34: Version = (1, 34, 0)
_V35: Version = (1, 35, 0)
_V36: Version = (1, 36, 0)
_V37: Version = (1, 37, 0)

QUIRKS: Mapping[str, Quirk] = {
    quirk.name: quirk
    for quirk in (
        Quirk(
            COUNTERS_LEAK,
            _V34,
            _V37,
            "counters taken for a device that a taint or constraint then refuses stay taken for the rest of the search",
            _ROLLBACK,
            "select only devices that the request can have (exclude tainted ones and those outside the constraint), or "
            "give the claim fewer devices to try",
        ),
        Quirk(
            SHARED_COUNTERS_KEPT,
            _V34,
            _V37,
            "counters taken through a device that allows several allocations are not given back on backtracking",
            _ROLLBACK,
            "order requests so that the shared device needs no second try",
            _NEWER,
        ),
        Quirk(
            CAPACITY_RECHECK_LEAK,
            _V34,
            _V37,
            "a device of an All request that lacks capacity at the second look stays marked as taken",
            _ROLLBACK,
            variants=_NEWER,
        ),
        Quirk(
            SHARES_CHARGED_AGAIN,
            _V35,
            _V37,
            "a further share of a device whose shares record no capacity takes the device's counters again",
            _ROLLBACK,
            "give the shared device a capacity",
            _NEWER,
        ),
        Quirk(
            EACH_SHARE_CHARGED,
            _V34,
            _V35,
            "every share of a device takes the device's counters again",
            advice="do not put shared devices on counters",
            variants=_NEWER,
        ),
        Quirk(
            SHARES_OVERLOOKED,
            _V34,
            None,
            "a device that no longer allows several allocations is given out although shares of it are in use",
            advice="drain the device before taking allowMultipleAllocations away",
            variants=_NEWER,
        ),
        Quirk(
            SHARES_FREE_COUNTERS,
            _V34,
            (1, 36, 1),
            "devices that are allocated as shares do not count against the pool's counters",
            variants=_NEWER,
        ),
        Quirk(
            DISTINCT_FORGETS,
            _V34,
            _V37,
            "distinctAttribute remembers one value for each request: with a count above one, values may repeat",
            advice="use one request for each device",
            variants=_NEWER,
        ),
        Quirk(
            DISTINCT_BLIND,
            _V34,
            _V35,
            "distinctAttribute does not compare values: only one device given twice is refused",
            variants=_NEWER,
        ),
        Quirk(
            MATCH_STAYS_NARROW,
            _V36,
            _V37,
            "the common values of list attributes stay narrowed after backtracking, so later devices are refused",
            variants=frozenset({EXPERIMENTAL}),
        ),
        Quirk(
            COUNTERS_BY_POOL_NAME,
            _V35,
            _V37,
            "pools of two drivers with one name share the bookkeeping of counters",
            advice="give the pools of the drivers different names",
        ),
        Quirk(
            COUNTERS_BY_SLICE,
            _V34,
            _V35,
            "counters are those of the device's own slice, not of the pool",
        ),
        Quirk(
            COUNTERS_CACHED,
            _V34,
            None,
            "the counters left in a pool are computed once for all nodes, from what the first node sees of the pool",
        ),
        Quirk(
            COUNTER_SLICES_EVERYWHERE,
            _V35,
            _V37,
            "slices with shared counters count on every node, so a broken pool of one node disturbs the others",
            advice="complete or repair the pool",
            variants=_NEWER,
        ),
        # The stable variant of 1.37 kept it.
        Quirk(
            f"{COUNTER_SLICES_EVERYWHERE}-stable",
            _V35,
            None,
            "slices with shared counters count on every node, so a broken pool of one node disturbs the others",
            advice="complete or repair the pool",
            variants=frozenset({STABLE}),
        ),
        Quirk(
            OVERDRAWN_BLOCKS_POOL,
            _V34,
            None,
            "one overdrawn counter of a pool refuses all devices of the pool that take counters, of any counter set",
            advice="free the devices that overdraw the counter",
        ),
        Quirk(
            ALL_LEAVES_OUT_FULL,
            _V34,
            _V37,
            "an All request silently leaves out devices whose capacity is used up at the moment",
            advice="free the capacity first, or select the devices wanted",
            variants=_NEWER,
        ),
        Quirk(
            CAPACITY_UNCHECKED,
            _V34,
            _V37,
            "capacities that are negative or too large are calculated with instead of refused",
            advice="correct the requested or published capacity",
            variants=_NEWER,
        ),
        Quirk(
            ZERO_STEP_PANIC,
            _V34,
            None,
            "a capacity policy whose step is zero makes kube-scheduler crash",
            advice="publish a step of at least one",
            variants=_NEWER,
        ),
        Quirk(
            HUGE_COUNTS_PANIC,
            _V34,
            _V37,
            "a claim whose counts add up to more than 64 bits hold makes kube-scheduler crash",
            advice="lower the counts; an allocation holds 32 devices",
        ),
        Quirk(
            CONFIG_REPEATED,
            _V34,
            _V37,
            "a config that names several requests is listed once for each, and names them even where it is for all",
        ),
        Quirk(
            ADMIN_BLOCKS,
            _V34,
            None,
            "a device given with admin access cannot be given to another claim of the same pod",
            advice="put the ordinary claim before the one with admin access",
        ),
        Quirk(
            ADMIN_NEEDS_COUNTERS,
            _V34,
            None,
            "admin access to a device needs the device's counters to be free",
        ),
        Quirk(
            STALE_GENERATION,
            _V34,
            None,
            "a pool's old generation is used on nodes for which the newer generation has no slice yet",
        ),
        Quirk(
            SELECTORS_BEFORE_NODE,
            _V34,
            None,
            "selectors are evaluated on devices of other nodes too, where an error ends the scheduling of the pod",
            advice="guard the selector with has() or optional chaining",
        ),
        Quirk(UNORDERED, _V34, _V36, "pools are tried in random order, slices in the order of the cache"),
        Quirk(
            f"{UNORDERED}-stable",
            _V36,
            None,
            "pools are tried in random order, slices in the order of the cache",
            variants=frozenset({STABLE}),
        ),
        Quirk(
            PERMUTATIONS, _V34, _V36, "every order of the devices of a request is tried, so searches take much longer"
        ),
        Quirk(
            f"{PERMUTATIONS}-stable",
            _V36,
            None,
            "every order of the devices of a request is tried, so searches take much longer",
            variants=frozenset({STABLE}),
        ),
        Quirk(
            BINDING_SLICES_LAST,
            _V34,
            _V36,
            "slices with binding conditions are considered after the pool's other slices",
            variants=frozenset({EXPERIMENTAL}),
        ),
        Quirk(
            ALL_FALLS_BACK,
            _V34,
            _V36,
            "an All request in a later alternative goes on with the first alternative after one device",
        ),
        Quirk(
            ALL_SHARES_SELECTION,
            _V34,
            _V36,
            "the devices of an All alternative are taken from the selection of the alternative before it",
        ),
        Quirk(
            ALL_COUNTERS_PANIC,
            _V35,
            (1, 36, 1),
            "an All request for devices that take counters makes kube-scheduler crash",
            advice="ask for a count of devices",
        ),
        Quirk(INCOMPLETE_USED, _V34, _V35, "devices of incomplete pools are used"),
        Quirk(INVALID_POOL_ABORTS, _V34, _V35, "an invalid pool ends the search with an error once it is reached"),
        Quirk(
            NODE_ONLY_COMPLETENESS,
            _V34,
            _V35,
            "a pool counts as complete only if all of its slices are for the node",
        ),
        Quirk(TOLERATIONS_NOT_COPIED, _V34, _V35, "tolerations are not recorded in the allocation"),
        Quirk(EVERY_TAINT_BLOCKS, _V34, _V35, "taints of any effect must be tolerated"),
        Quirk(
            CAPACITY_OF_ANOTHER_DEVICE,
            _V34,
            _V35,
            "capacity is checked a second time on a device chosen by position, not on the one to be allocated",
            variants=frozenset({EXPERIMENTAL}),
        ),
        Quirk(
            TAINT_RULES_UNSEEN,
            _V36,
            (1, 36, 3),
            "the scheduler does not see DeviceTaintRules, and crashes when a slice changes while there are any",
            "kubernetes/kubernetes#139651, #139681",
            "delete the DeviceTaintRules and taint the devices in their slices",
        ),
        Quirk(
            TAINT_RULE_WITHOUT_SELECTOR,
            _V34,
            _V37,
            "a DeviceTaintRule without deviceSelector taints every device, though documented to fit none",
            advice="give the rule a deviceSelector",
        ),
        Quirk(
            LIST_ATTRIBUTES_UNUSED,
            _V36,
            _V37,
            "the scheduler compares list attributes as if the feature was off",
            "kubernetes/kubernetes#139332",
        ),
    )
}


def quirks_of(version: Version, variant: str) -> frozenset[str]:
    """The names of the quirks of a version's variant; those that differ by variant alone go by their plain name."""
    return frozenset(name.removesuffix("-stable") for name, quirk in QUIRKS.items() if quirk.applies(version, variant))


def quirk_for(name: str, version: Version, variant: str) -> Quirk:
    """The entry behind a plain name in a version's variant."""
    for candidate in (name, f"{name}-stable"):
        entry = QUIRKS.get(candidate)
        if entry is not None and entry.applies(version, variant):
            return entry
    return QUIRKS[name]
