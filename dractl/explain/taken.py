"""Why matching devices cannot be taken: holders and what they are, taints, counters, shares, names that clash."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from dractl.explain.answer import Answer
from dractl.explain.case import Case
from dractl.explain.eligibility import tolerates
from dractl.explain.holders import Held, holders_of
from dractl.explain.judge import COUNTERS, INSUFFICIENT, TAINTED, UNDEFINED, Ask, device_taint_text
from dractl.explain.lifecycle import FINALIZER, gone_consumers, gone_words, since
from dractl.explain.nearest import device_names
from dractl.explain.room import fraction
from dractl.explain.statements import Scope, noun, scope_of, short_name
from dractl.explain.survey import Candidate
from dractl.explain.users import explain_users
from dractl.explain.words import listing, natural, near, plural, ranges
from dractl.inventory import DeviceId, Key, key_of
from dractl.kube.objects import Device, DeviceTaint, ResourceClaim, Taint
from dractl.rules import allocation as rules
from dractl.rules import lifecycle, scheduler
from dractl.rules.finding import ObjectRef

_HEALTH = ("xid", "health", "unhealthy", "gpu-lost", "lost", "broken", "ecc")


def explain_taken(case: Case, answer: Answer, indices: Sequence[int], nodes: Sequence[str]) -> list[Held]:
    """What is worth saying about matching devices that cannot be taken: of some asks, on some nodes; the holders."""
    scopes = [scope_of(case.survey, index, nodes) for index in indices]
    held = holders_of(case.survey, indices, nodes)
    for scope in scopes:
        _taints(case, answer, scope)
        _counters(case, answer, scope)
        _shares(case, answer, scope, held)
        _amounts(answer, scope)
        _same_names(case, answer, scope, nodes)
        _one_a_node(case, answer, scope)
    _holders(case, answer, held, scopes)
    explain_users(case, answer, held)
    return held


# --- taints ---------------------------------------------------------------------------------------------------------


def _taints(case: Case, answer: Answer, scope: Scope) -> None:
    tainted = [one for one in scope.matched.values() if one.judgement.codes == (TAINTED,)]
    if not tainted:
        return
    ask = scope.ask
    by_taint: dict[str, tuple[DeviceTaint, list[Candidate]]] = {}
    for one in tainted:
        for taint in one.judgement.taints:
            by_taint.setdefault(device_taint_text(taint), (taint, []))[1].append(one)
    for taint, devices in by_taint.values():
        text = device_taint_text(taint, with_rule=False)
        names = device_names([one.id for one in devices])
        who = f"by DeviceTaintRule {taint.rule}" if taint.rule else f"by its driver, {devices[0].id.driver}"
        when = f" since {taint.time_added}" if taint.time_added else ""
        has = "has" if ask.spec.tolerations else "has no toleration for it"
        if ask.spec.tolerations:
            has = f"has tolerations, but none that fits: {_tolerations(ask, taint)}"
        told = (
            f"{names} {plural(len(devices), 'is')} free and {plural(len(devices), 'matches', 'match')}, but tainted "
            f"{text} {who}{when}, and request {ask.label} {has}"
        )
        answer.say(told)
        answer.find(
            rules.TAINTED.finding(
                told, ObjectRef("Device", str(devices[0].id)), evidence={"devices": [str(one.id) for one in devices]}
            )
        )
        _misplaced(case, answer, taint)
        _rule_for_all(case, answer, taint)
        _taint_advice(answer, taint, devices, ask)


def _tolerations(ask: Ask, taint: DeviceTaint) -> str:
    """Why each toleration of a request does not fit a taint."""
    out = []
    for one in ask.spec.tolerations:
        if one.key and one.key != taint.key:
            text = f"one is for {one.key}"
            if near(one.key, [taint.key]):
                text = f"one is for {one.key}, the taint is {taint.key}"
        elif one.effect and one.effect != taint.effect:
            text = f"the one for {one.key or 'all keys'} is for effect {one.effect}, the taint has {taint.effect}"
        elif one.operator == "Exists":
            continue
        else:
            text = f"the one for {one.key} is for value '{one.value}', the taint has '{taint.value}'"
        out.append(text)
    return listing(dict.fromkeys(out), 3)


def _misplaced(case: Case, answer: Answer, taint: DeviceTaint) -> None:
    as_node = Taint(taint.key, taint.value, taint.effect)
    for pod in case.pods:
        if any(one.key and tolerates(one, as_node) for one in pod.tolerations):
            text = (
                f"the toleration for {taint.key} in pod {key_of(pod)} is a node toleration and has no effect on device "
                "taints; a device taint is tolerated only in the claim's request "
                "(spec.devices.requests[].exactly.tolerations)"
            )
            answer.say(text)
            answer.find(rules.TOLERATION_MISPLACED.finding(text, ObjectRef("Pod", pod.meta.name, pod.meta.namespace)))


def _rule_for_all(case: Case, answer: Answer, taint: DeviceTaint) -> None:
    """A DeviceTaintRule that names no driver, pool or device: it is for all there are."""
    rule = next((one for one in case.inventory.taint_rules if one.meta.name == taint.rule), None)
    if rule is None or rule.selector is None:
        return
    if any((rule.selector.driver, rule.selector.pool, rule.selector.device)):
        return
    evicts = "; with NoExecute pods that run are evicted too" if taint.effect == "NoExecute" else ""
    answer.say(
        f"the deviceSelector of DeviceTaintRule {taint.rule} is empty, so the rule is for every device of every "
        f"driver in the cluster{evicts}"
    )
    answer.advise(
        f"if DeviceTaintRule {taint.rule} is meant for some devices only, name them in spec.deviceSelector (driver, "
        "pool, device)"
    )


def is_health(taint: DeviceTaint) -> bool:
    """Whether a taint is about the health of a device, by its key."""
    bare = taint.key.rpartition("/")[2].lower()
    return any(word in bare for word in _HEALTH)


def _taint_advice(answer: Answer, taint: DeviceTaint, devices: list[Candidate], ask: Ask) -> None:
    bare = taint.key.rpartition("/")[2].lower()
    what = noun(ask)
    names = device_names([one.id for one in devices], 3)
    if taint.rule:
        answer.advise(f"end what DeviceTaintRule {taint.rule} is for and delete it; {names} can then be taken")
    elif is_health(taint):
        stays = ""
        if devices[0].id.driver == "gpu.nvidia.com":
            nodes = ranges(sorted({one.id.pool for one in devices}, key=natural), 3)
            stays = f"; this taint stays until the driver's kubelet plugin on {nodes} is restarted"
        code = f" that reported {bare.capitalize()} {taint.value}" if bare == "xid" and taint.value else ""
        answer.advise(
            f"bring {names} back to health{stays}. Tolerating the taint in the claim would place the pod on a {what}"
            f"{code or ' that its driver reports as unhealthy'}"
        )
    else:
        answer.advise(f"find out why {names} {plural(len(devices), 'is')} tainted, and remove the cause")


# --- counters -------------------------------------------------------------------------------------------------------


def _counters(case: Case, answer: Answer, scope: Scope) -> None:
    blocked = [one for one in scope.matched.values() if COUNTERS in one.judgement.codes]
    only = [one for one in blocked if one.judgement.codes == (COUNTERS,)]
    if not only:
        return
    room = case.survey.judge.room
    in_use = sum(1 for one in scope.matched.values() if "in-use" in one.judgement.codes)
    name = noun(scope.ask)
    lead = f"no {name} that matches request {scope.ask.label} is allocated itself; " if not in_use else ""
    shown = sorted(only, key=lambda one: natural(str(one.id)))
    first = ""
    for number, one in enumerate(shown[:4]):
        parts = []
        for shortage in one.judgement.shortages[:4]:
            by = []
            for device in shortage.by:
                owners = [str(key_of(holder.claim)) for holder in room.holders_of(device)]
                by.append(f"{listing(dict.fromkeys(owners), 3)} with {device.device}")
            need = f"needs {shortage.needed}, {shortage.left} left"
            parts.append(f"{shortage.counter} ({need}; held by {listing(by, 3)})")
        what = f"lacks counters: {listing(parts, 4)}" if parts else one.judgement.text
        text = f"{lead if number == 0 else ''}{short_name(one.id)} {what}"
        first = first or text
        answer.say(text)
    if len(shown) > 4:
        answer.say(f"{len(shown) - 4} more {plural(len(shown) - 4, name)} lack counters in the same way")
    _fragmentation(case, answer, scope, shown)
    answer.find(rules.COUNTERS_TAKEN.finding(first, ObjectRef("Device", str(shown[0].id))))


def _fragmentation(case: Case, answer: Answer, scope: Scope, blocked: list[Candidate]) -> None:
    """Whether the sums would suffice: then it is where the pieces lie that keeps the device from fitting."""
    room = case.survey.judge.room
    done: set[tuple[object, str]] = set()
    for one in blocked:
        for consumption in one.device.consumes_counters:
            key = (one.id.pool_id, consumption.counter_set)
            if key in done:
                continue
            done.add(key)
            left = room.counters(one.id.pool_id).get(consumption.counter_set, {})
            units = fraction(left)
            need_units = sum(1 for name in consumption.counters if name in left and left[name].total.value() == 1)
            free_units = int(units.split(" ")[0]) if units else 0
            sums = {
                name: (left[name].left, amount)
                for name, amount in consumption.counters.items()
                if name in left and left[name].total.value() != 1
            }
            if not units or free_units < need_units or any(have < need for have, need in sums.values()):
                continue
            kind = _units_word(consumption.counters)
            amounts = [f"{name} {have}" for name, (have, _) in sums.items()]
            others = f", and {listing(amounts, 4)} are left" if sums else ""
            answer.say(
                f"in sum {units} {kind} of {consumption.counter_set} are free{others}, which would suffice; it is "
                "fragmentation: the free pieces do not lie together"
            )


def _units_word(counters: Iterable[str]) -> str:
    names = list(counters)
    for name in names:
        stem = name.rstrip("0123456789").rstrip("-")
        if stem != name and sum(other.startswith(stem) for other in names) > 1:
            return plural(2, stem.replace("-", " "))
    return "counters of one unit"


# --- one device a node ----------------------------------------------------------------------------------------------


def _one_a_node(case: Case, answer: Answer, scope: Scope) -> None:
    """Where every node has but one device that matches, and all of them are in use."""
    numbers = [len(case.survey.nodes[name].asks[scope.index].matched) for name in scope.nodes]
    having = [number for number in numbers if number]
    if len(having) < 2 or max(having) > 1 or len(scope.matched) < len(having) or set(scope.codes) != {"in-use"}:
        return
    ask = scope.ask
    names = ranges(sorted({one.id.device for one in scope.matched.values()}, key=natural), 3)
    answer.say(f"every node publishes only one {noun(ask)} that matches request {ask.label}, {names}")
    if "compute-domain.nvidia.com" in {one.id.driver for one in scope.matched.values()}:
        terms = [term.text for of_class, _, term in case.survey.judge.terms(ask) if of_class and term.wanted]
        only = [text for text in terms if text.rpartition("/")[2].startswith("id ")]
        answer.say(
            f"class {ask.spec.device_class_name} selects only the channel with {listing(only) or 'one id'}, so another "
            "compute domain cannot run on a node as long as one is there, however many GPUs are free"
        )
        answer.advise(
            "run the second job on nodes without a compute domain, or after the first; pods that are to share a node "
            "belong into one compute domain and share one claim for the channel"
        )


# --- shares ---------------------------------------------------------------------------------------------------------


def _shares(case: Case, answer: Answer, scope: Scope, held: list[Held]) -> None:
    full = [
        one
        for one in scope.matched.values()
        if one.judgement.code == INSUFFICIENT and one.judgement.short is not None and one.judgement.short.taken
    ]
    if not full:
        return
    room = case.survey.judge.room
    for one in sorted(full, key=lambda one: natural(str(one.id)))[:6]:
        short = one.judgement.short
        assert short is not None
        by = [
            f"{(holder.result.consumed_capacity or {}).get(short.name)} by {key_of(holder.claim)}"
            for holder in room.shares.get(one.id, ())
            if (holder.result.consumed_capacity or {}).get(short.name)
        ]
        answer.say(f"{short_name(one.id)}: of {short.has} {short.name} are taken {listing(by, 6)}")
    charged = [one for one in held if one.shared and _charged_in_full(case, one, full)]
    if not charged:
        return
    short = full[0].judgement.short
    assert short is not None
    names = listing([one.name for one in charged], 4)
    text = (
        f"{names} {plural(len(charged), 'names', 'name')} no capacity, and the capacity {short.name} has no "
        f"requestPolicy with a default, so {plural(len(charged), 'it was', 'each was')} charged the whole value "
        f"({short.has})"
    )
    answer.say(text)
    answer.find(rules.CHARGED_IN_FULL.finding(text, ObjectRef("ResourceClaim", *reversed(key_of(charged[0].claim)))))
    answer.advise(
        f"give {names} capacity.requests {short.name} (a claim's spec cannot be changed: make them anew); then several "
        "fit on one device"
    )


def _amounts(answer: Answer, scope: Scope) -> None:
    """Amounts that a device does not have under that name, or that its policy does not allow."""
    told: set[str] = set()
    for one in scope.matched.values():
        short = one.judgement.short
        if short is None or short.name in told:
            continue
        if one.judgement.code == UNDEFINED:
            told.add(short.name)
            there = listing(sorted(one.device.capacity), 6)
            answer.say(
                f"request {scope.ask.label} names capacity {short.name}; {short_name(one.id)} has "
                + (f"{there}, and a name has to be written exactly as in the slice" if there else "no capacity at all")
            )
        elif short.by_policy and short.name in one.device.capacity:
            told.add(short.name)
            allowed = policy_text(one.device, short.name)
            answer.say(f"the policy of {short.name} on {short_name(one.id)} allows {allowed}")


def policy_text(device: Device, name: str) -> str:
    """The amounts that a device's policy allows."""
    policy = device.capacity[name].request_policy
    if policy is None:
        return "any amount"
    if policy.valid_values:
        return listing([str(value) for value in policy.valid_values], 10, "or")
    bounds = policy.valid_range
    if bounds is None:
        return "any amount"
    parts = [f"at least {bounds.min}"] if bounds.min is not None else []
    parts += [f"at most {bounds.max}"] if bounds.max is not None else []
    parts += [f"in steps of {bounds.step}"] if bounds.step is not None else []
    return listing(parts)


def _charged_in_full(case: Case, held: Held, full: list[Candidate]) -> bool:
    devices = {one.id: one for one in full}
    for result in held.claim.allocation.results if held.claim.allocation else []:
        one = devices.get(DeviceId(result.driver, result.pool, result.device))
        if one is None or not result.consumed_capacity:
            continue
        short = one.judgement.short
        assert short is not None
        policy = one.device.capacity[short.name].request_policy if short.name in one.device.capacity else None
        whole = short.has is not None and result.consumed_capacity.get(short.name) == short.has
        unset = policy is None or policy.default is None
        if whole and unset and not _names_capacity(held.claim, result.request, short.name):
            return True
    return False


def _names_capacity(claim: ResourceClaim, request: str, name: str) -> bool:
    main, _, sub = request.partition("/")
    for one in claim.spec.requests:
        if one.name != main:
            continue
        spec = one.exactly or next((alt for alt in one.first_available if alt.name == sub), None)
        return spec is not None and name in (spec.capacity or {})
    return False


# --- one name on several nodes --------------------------------------------------------------------------------------


def _same_names(case: Case, answer: Answer, scope: Scope, nodes: Sequence[str]) -> None:
    """A device that several node-local slices publish under one name counts once, whoever has it."""
    for one in scope.matched.values():
        if "in-use" not in one.judgement.codes:
            continue
        pool = case.inventory.pools.get(one.id.pool_id)
        if pool is None:
            continue
        slices = [
            item for item in [*pool.current, *pool.former] if any(dev.name == one.id.device for dev in item.devices)
        ]
        places = sorted({item.node_name for item in slices if item.node_name}, key=natural)
        if len(places) < 2:
            continue
        holder = one.judgement.holders[0].claim if one.judgement.holders else None
        at = _where_held(holder)
        others = [name for name in places if name != at]
        who = f"claim {key_of(holder)}{f' (on {at})' if at else ''}" if holder else "another claim"
        text = (
            f"driver {one.id.driver} publishes pool {one.id.pool} with device {one.id.device} from {len(places)} nodes "
            f"({ranges(places, 6)}); a device is known by driver, pool and name, so they are one and the same, "
            f"{one.id}: it counts as in use because of {who}, and {ranges(others, 6)} "
            f"{plural(len(others), 'is', 'are')} refused too although the hardware there is another"
        )
        answer.say(text)
        answer.find(rules.SHARED_DEVICE_NAME.finding(text, ObjectRef("Device", str(one.id))))
        answer.advise(
            f"the driver {one.id.driver} has to use a pool name of its own on each node (for example the node's name), "
            "or device names that occur once; until then only one claim at a time can be served"
        )
        return


def _where_held(claim: ResourceClaim | None) -> str | None:
    if claim is None or claim.allocation is None or claim.allocation.node_selector is None:
        return None
    for term in claim.allocation.node_selector.terms:
        for field in term.match_fields:
            if field.key == "metadata.name" and len(field.values) == 1:
                return field.values[0]
    return None


# --- holders --------------------------------------------------------------------------------------------------------


def _holders(case: Case, answer: Answer, held: list[Held], scopes: list[Scope]) -> None:
    for one in held[:20]:
        _stale(case, answer, one)
    priorities = [pod.priority for pod in case.pods]
    mine = max(priorities, default=None)
    lower = [one for one in held if one.pods and mine is not None and (one.priority or 0) < mine]
    if lower and any("in-use" in scope.codes for scope in scopes):
        names = listing([f"{one.name} ({_priority(one)})" for one in lower], 4)
        who = listing([str(key_of(pod)) for pod in case.pods], 3)
        text = (
            f"of the holders {names} {plural(len(lower), 'has', 'have')} a lower priority than pod {who} ({mine}), but "
            f"the scheduler of {case.release.minor} does not preempt pods for the devices of their claims: it will not "
            "remove them by itself"
        )
        answer.say(text)
        answer.find(scheduler.NO_PREEMPTION.finding(text))


def _priority(held: Held) -> str:
    pod = max(held.pods, key=lambda pod: pod.priority)
    named = f", class {pod.priority_class_name}" if pod.priority_class_name else ""
    return f"priority {pod.priority}{named}"


def _stale(case: Case, answer: Answer, held: Held) -> None:
    """A holder that nothing uses any more."""
    claim = held.claim
    gone = gone_consumers(case.inventory, claim)
    unused = bool(gone) and len(gone) == len(claim.reserved_for)
    devices = device_names(held.devices)
    subject = ObjectRef("ResourceClaim", claim.meta.name, claim.meta.namespace)
    if claim.meta.deletion_timestamp:
        kept = f", kept by the finalizer {FINALIZER}" if FINALIZER in claim.meta.finalizers else ""
        when = claim.meta.deletion_timestamp
        text = f"{devices} is held by claim {held.name}, which is being deleted since {when}{kept}"
        if unused:
            text += f"; its reservation names {gone_words(case.inventory, claim)}: nothing uses the device"
        elif not claim.reserved_for:
            text += "; no pod is in its reservation: nothing uses the device"
        else:
            text += f"; it is still used by pod {listing([str(key_of(pod)) for pod in held.pods], 3)}"
        answer.say(text)
        if unused or not claim.reserved_for:
            _stale_advice(answer, held.name)
            answer.find(lifecycle.STALE_HOLDER.finding(text, subject))
    elif unused:
        age = since(case.inventory, claim.allocation.allocation_timestamp if claim.allocation else None, case.now)
        text = (
            f"claim {held.name} still holds {devices}{f', for {age}' if age else ''}, although its reservation names "
            f"{gone_words(case.inventory, claim)}: nothing uses the device"
        )
        answer.say(text)
        _stale_advice(answer, held.name)
        answer.find(lifecycle.STALE_HOLDER.finding(text, subject))
    elif not claim.reserved_for and not held.pods:
        text = f"claim {held.name} holds {devices}, but is reserved for no pod and no pod refers to it"
        answer.say(text)
        answer.find(lifecycle.STALE_HOLDER.finding(text, subject))
        answer.advise(f"delete claim {held.name} if nobody needs it: its devices are free at once")


def _stale_advice(answer: Answer, name: str) -> None:
    answer.advise(
        f"the resource claim controller (in kube-controller-manager) should remove the stale reservation and the "
        f"finalizer of {name}: look there first. As a last step clear status.reservedFor of {name} by hand, after "
        "making sure that nothing of the pod is left on the node"
    )


# --- slices of former generations -----------------------------------------------------------------------------------


def explain_outdated(case: Case, answer: Answer, indices: Sequence[int]) -> None:
    """Devices that only a slice of a former generation lists, and that some asks could take."""
    asks = [case.survey.asks[index] for index in indices]
    for pool in case.inventory.pools.values():
        current = {device.id for device in pool.devices()}
        ghosts = [one for one in pool.former_devices() if one.id not in current and one.id not in case.survey.seen]
        wanted = [
            one
            for one in ghosts
            if any(case.survey.judge.selection(ask, one.id.driver, one.device).code is None for ask in asks)
        ]
        if not wanted:
            continue
        names = listing(sorted({one.device.name for one in wanted}, key=natural), 6)
        old = listing(sorted({one.slice.meta.name for one in wanted}), 3)
        generations = listing(sorted({str(one.slice.pool.generation) for one in wanted}), 3)
        whole = f"complete: {len(pool.current)} of {pool.expected_slices}" if pool.complete else "not complete"
        now = device_names(sorted(current, key=lambda one: natural(str(one))), 3)
        text = (
            f"pool {pool.id.pool} of {pool.id.driver} is at generation {pool.generation} (slice "
            f"{listing([item.meta.name for item in pool.current], 3)}, {whole}), which lists {now}; {names} is listed "
            f"only in slice {old} of generation {generations}, which does not count any more"
        )
        answer.say(text)
        answer.find(rules.OUTDATED_SLICE.finding(text, ObjectRef("ResourceSlice", wanted[0].slice.meta.name)))
        answer.advise(
            f"find out why {names} went missing on {pool.id.pool}: driver {pool.id.driver} published generation "
            f"{pool.generation} without it (look at the driver's log and at the device), and why slice {old} was not "
            "deleted"
        )


def holder_keys(held: Iterable[Held]) -> list[Key]:
    """Namespace and name of holders."""
    return [key_of(one.claim) for one in held]
