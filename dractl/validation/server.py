"""The API server's verdict on one object as faults.

The server stops decoding at the first value of a wrong type and does not validate an object with unknown fields. A
reader wants all faults at once, so an object that cannot be decoded is looked at again without what was wrong, and what
only follows from that is left out or told with its reason.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

from dractl.cel.environment import Environment
from dractl.kube.gates import GATES, NEWEST, Release, enabled, stage
from dractl.rules import advice
from dractl.rules import manifests as rules
from dractl.validation import apiserver
from dractl.validation.apiserver import Request, Verdict, admit
from dractl.validation.celfaults import compile_faults, cost_fault
from dractl.validation.decoding import DecodeProblem
from dractl.validation.errors import Cause
from dractl.validation.fields import unknown_field, wrong_type
from dractl.validation.fixes import fix
from dractl.validation.model import Fault, Json, Path, at, mapping, text
from dractl.validation.semantic import KINDS
from dractl.validation.settings import Settings
from dractl.validation.wording import cause_fault

_MAX_ROUNDS = 30
_UNKNOWN = "unknown field"
_SUFFIXES = (
    ("GiB", "Gi"), ("MiB", "Mi"), ("KiB", "Ki"), ("TiB", "Ti"), ("GB", "G"), ("MB", "M"), ("TB", "T"),
    ("gi", "Gi"), ("mi", "Mi"), ("ki", "Ki"), ("K", "k"), ("g", "G"),
)  # fmt: skip
"""Suffixes that people write, and the ones that exist."""


@dataclass(slots=True)
class Judgement:
    """What the server answers and the faults behind it. ``accepted`` is the strict answer."""

    accepted: bool
    code: int
    message: str
    faults: list[Fault] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    verdict: Verdict | None = None

    @property
    def stored(self) -> Json | None:
        """The stored form of an accepted object."""
        return self.verdict.stored if self.verdict is not None else None


def known_to_server(value: Json) -> bool:
    """Whether the kind's rules are known."""
    return text(value.get("kind")) in KINDS


def judge(
    value: Json, settings: Settings, old: Json | None = None, repeated: frozenset[Path] = frozenset()
) -> Judgement:
    """Put an object to the server of a release.

    Args:
        value: the object.
        settings: release, gates and namespaces.
        old: the object as it is in the cluster, for an update.
        repeated: paths of keys that were written twice.
    """
    request = _request(value, settings, repeated)
    verdict = _ask(value, settings, old, request, strict=True)
    if verdict.accepted:
        faults = [_dropped(path, gate, settings) for path, gate in verdict.dropped]
        return Judgement(True, verdict.code, "", faults, verdict.warnings, verdict)
    judgement = Judgement(False, verdict.code, verdict.message or "", warnings=verdict.warnings)
    if verdict.code == apiserver.BAD_REQUEST:
        judgement.faults = _decoding_faults(value, verdict, settings, old, request)
    elif verdict.code == apiserver.INVALID:
        judgement.faults = _cause_faults(value, verdict, verdict.causes, settings, old, request)
    return judgement


def _request(value: Json, settings: Settings, repeated: frozenset[Path]) -> Request:
    space = text(at(value, "metadata", "namespace")) or settings.namespace
    return Request(
        namespace_labels=settings.namespaces.get(space),
        serve_gated=True,
        duplicates=repeated,
    )


def _ask(value: Json, settings: Settings, old: Json | None, request: Request, strict: bool) -> Verdict:
    return admit(value, release=settings.release, gates=settings.gates, old=old, strict=strict, request=request)


# --- 400 ------------------------------------------------------------------------------------------------------------


def _decoding_faults(
    value: Json, verdict: Verdict, settings: Settings, old: Json | None, request: Request
) -> list[Fault]:
    faults: list[Fault] = []
    removed: list[Path] = []
    unknown: list[Path] = []
    current = value
    for _ in range(_MAX_ROUNDS):
        progress = False
        for problem in verdict.decoding:
            fault = _decoding_fault(value, problem, settings)
            if problem.kind == _UNKNOWN:
                unknown.append(problem.path)
            elif problem.kind != "duplicate field" and problem.path and problem.path not in removed:
                if current is value:
                    current = copy.deepcopy(value)
                progress = _remove(current, problem.path) or progress
                removed.append(problem.path)
            if fault is not None:
                faults.append(fault)
        if not progress or verdict.code != apiserver.BAD_REQUEST:
            break
        verdict = _ask(current, settings, old, request, strict=True)
    lenient = _ask(current, settings, old, request, strict=False)
    consequences: list[Cause] = []
    if lenient.code == apiserver.INVALID:
        rest = [cause for cause in lenient.causes if not _follows(cause.path, removed)]
        consequences = [cause for cause in rest if _consequence(cause, unknown)]
        others = [cause for cause in rest if cause not in consequences]
        faults += _cause_faults(current, lenient, others, settings, old, request)
    elif lenient.accepted:
        faults += [_dropped(path, gate, settings) for path, gate in lenient.dropped]
    _tell_lenient(faults, lenient, consequences, bool(unknown and not removed))
    if removed and len(faults) > 1:
        first = next((fault for fault in faults if fault.path in removed), None)
        if first is not None:
            first.evidence.setdefault("note", "the API server stops here and says nothing of the other faults")
    faults += [fault for fault in _behind_fixes(current, faults, settings, old) if not _follows(fault.path, removed)]
    message = verdict.message or "the server refuses the object"
    if not faults and all(problem.kind == "duplicate field" for problem in verdict.decoding):
        # told by whoever has read the text and knows the lines
        return []
    return faults or [Fault(rules.BAD_REQUEST, message, server=message)]


def _behind_fixes(value: Json, faults: list[Fault], settings: Settings, old: Json | None) -> list[Fault]:
    """What is still wrong when the certain fixes are made: faults that the server shows only then."""
    fixed = fix(value, [fault for fault in faults if fault.evidence.get("fix") not in (None, "value", "quote", "nest")])
    if not fixed.applied:
        return []
    again = judge(fixed.value, settings, old)
    told = {(fault.rule.code, fault.message) for fault in faults}
    out = []
    for fault in again.faults:
        fault.path = fixed.original(fault.path)
        fault.also = tuple(fixed.original(path) for path in fault.also)
        if (fault.rule.code, fault.message) not in told:
            out.append(fault)
    if again.accepted:
        last = fixed.applied[-1]
        what = "the expression itself compiles; " if last.path[-1] == "expression" else ""
        last.evidence["after"] = f"{what}with that the API server accepts the object"
    return out


def _decoding_fault(value: Json, problem: DecodeProblem, settings: Settings) -> Fault | None:
    if problem.kind == _UNKNOWN:
        return unknown_field(value, problem.path, settings.release)
    if problem.kind == "duplicate field":
        return None
    if problem.kind == "quantity":
        return _quantity_fault(value, problem)
    if problem.kind in ("wrong type", "time"):
        return wrong_type(value, problem.path, problem.text, settings.release)
    if problem.kind == "missing":
        return Fault(rules.NOT_AN_OBJECT, problem.text, problem.path, server=problem.text)
    return Fault(rules.BAD_REQUEST, problem.text, problem.path, server=problem.text)


def _quantity_fault(value: Json, problem: DecodeProblem) -> Fault:
    found = at(value, *problem.path)
    if isinstance(found, list | dict):
        what = "a list" if isinstance(found, list) else "a mapping"
        name = problem.path[-1]
        sentence = f"{name} has to be a quantity, not {what}"
        hint = "claims stand beside limits, in resources.claims" if name == "claims" else ""
        return Fault(rules.WRONG_TYPE, sentence, problem.path, key=True, hint=hint, server=problem.text)
    shown = str(found)
    joined = "".join(shown.split())
    sentence = f"'{shown}' is not a quantity"
    hint, evidence = "", {}
    if joined != shown:
        sentence += " (the blank)"
    fixed = _repair_quantity(joined)
    if fixed:
        hint, evidence = f"write {fixed}", {"fix": "value", "to": fixed}
    return Fault(rules.BAD_QUANTITY, sentence, problem.path, hint=hint, server=problem.text, evidence=evidence)


def _repair_quantity(shown: str) -> str:
    """The quantity that was meant, or an empty text."""
    from dractl.kube.quantity import Quantity, QuantityError

    candidates = [shown]
    for wrong, right in _SUFFIXES:
        if shown.endswith(wrong):
            candidates.append(shown.removesuffix(wrong) + right)
    for candidate in candidates:
        try:
            Quantity.parse(candidate)
        except QuantityError:
            continue
        return candidate
    return ""


def _remove(value: Json, path: Path) -> bool:
    """Take out what is at a path; whether it was there."""
    holder = at(value, *path[:-1])
    last = path[-1]
    if isinstance(holder, dict) and isinstance(last, str) and last in holder:
        del holder[last]
        return True
    if isinstance(holder, list) and isinstance(last, int) and last < len(holder):
        # an entry less would move the others
        holder[last] = None
        return True
    return False


def _follows(path: Path, removed: list[Path]) -> bool:
    """Whether a cause is at or below something that was taken out."""
    return any(path[: len(one)] == one or one[: len(path)] == path for one in removed)


def _consequence(cause: Cause, unknown: list[Path]) -> bool:
    """Whether a cause is there because an unknown field beside it was dropped."""
    if cause.reason not in ("FieldValueRequired", "FieldValueInvalid"):
        return False
    return any(cause.path == one[:-1] or cause.path[:-1] == one[:-1] for one in unknown)


def _tell_lenient(faults: list[Fault], lenient: Verdict, consequences: list[Cause], only_unknown: bool) -> None:
    """Say at the last unknown field what happens without strict checking."""
    about = (rules.UNKNOWN_FIELD, rules.OLD_CLAIM_SOURCE, advice.NEWER_FIELD)
    fields = [fault for fault in faults if fault.rule in about]
    if not fields:
        return
    what = "the field" if len(fields) == 1 else "the fields"
    if consequences:
        answer = "; ".join(str(cause) for cause in consequences)
        note = f"without strict checking {what} would be dropped and the API server would answer {answer}"
    elif lenient.accepted and only_unknown:
        note = f"without strict checking {what} would be dropped and the rest stored"
        stored = lenient.stored or {}
        if text(stored.get("kind")) in ("ResourceClaim", "ResourceClaimTemplate") and _is_empty_claim(stored):
            note = (
                f"without strict checking {what} would be dropped and an EMPTY claim is stored: it is allocated at "
                "once, the pod starts and has no device"
            )
    else:
        return
    for fault in fields:
        fault.evidence["note"] = note


def _is_empty_claim(stored: Json) -> bool:
    path: Path = ("spec", "spec") if stored.get("kind") == "ResourceClaimTemplate" else ("spec",)
    return not mapping(at(stored, *path, "devices")).get("requests")


# --- 422 ------------------------------------------------------------------------------------------------------------


def _cause_faults(
    value: Json, verdict: Verdict, causes: list[Cause], settings: Settings, old: Json | None, request: Request
) -> list[Fault]:
    """Causes of a refusal; those that are there only because a gate is off are told with the field that needs it."""
    faults: list[Fault] = []
    if verdict.dropped:
        follow: dict[str, list[Cause]] = {}
        for gate in dict.fromkeys(gate for _, gate in verdict.dropped):
            with_gate = _ask(value, replace(settings, gates={**settings.gates, gate: True}), old, request, strict=False)
            stay = {(cause.field, cause.message) for cause in with_gate.causes}
            follow[gate] = [cause for cause in causes if (cause.field, cause.message) not in stay]
        explained = [cause for found in follow.values() for cause in found]
        causes = [cause for cause in causes if cause not in explained]
        faults += _gate_faults(verdict.dropped, follow, settings)
    return faults + _faults_of(value, causes, settings)


def _gate_faults(dropped: list[tuple[Path, str]], follow: dict[str, list[Cause]], settings: Settings) -> list[Fault]:
    """Dropped fields; those whose absence makes the object invalid are refused, the others lost."""
    faults = []
    for path, gate in dropped:
        holder = path[:-1]
        mine = [
            cause
            for cause in follow[gate]
            if path[: len(cause.path)] == cause.path or cause.path[: len(holder)] == holder
        ]
        if not mine:
            faults.append(_dropped(path, gate, settings))
            continue
        name = path[-1]
        sentence = (
            f"{name} needs the feature gate {gate}, {_gate_state(gate, settings)}: the API server drops it and then "
            f"refuses the object"
        )
        server = "; ".join(str(cause) for cause in mine)
        faults.append(Fault(advice.GATE_REFUSES, sentence, path, key=True, hint=_gate_hint(gate), server=server))
    return faults


def _dropped(path: Path, gate: str, settings: Settings) -> Fault:
    sentence = (
        f"{path[-1]} needs the feature gate {gate}, {_gate_state(gate, settings)}: the API server accepts the object "
        f"and silently drops the field"
    )
    return Fault(advice.DROPPED_FIELD, sentence, path, key=True, hint=_gate_hint(gate), evidence={"gate": gate})


def _gate_state(gate: str, settings: Settings) -> str:
    """``alpha and off by default in 1.34 and 1.35, on by default from 1.36``."""
    version = settings.version
    now = stage(gate, settings.release)
    if now is None:
        return f"which Kubernetes {version} does not have"
    if settings.gates.get(gate) is False and now.default:
        return f"which is switched off here (on by default in {version})"
    off = [
        minor
        for minor in range(GATES[gate].stages[0].since[1], NEWEST[1] + 1)
        if (found := stage(gate, (1, minor))) is not None and not found.default
    ]
    releases = " and ".join(f"1.{minor}" for minor in off) if len(off) <= 2 else f"1.{off[0]} to 1.{off[-1]}"
    on = [minor for minor in range(settings.release[1], NEWEST[1] + 1) if (s := stage(gate, (1, minor))) and s.default]
    later = f", on by default from 1.{on[0]}" if on else ""
    return f"{now.stage.lower()} and off by default in {releases or version}{later}"


def _gate_hint(gate: str) -> str:
    since = next(
        (
            f"1.{minor}"
            for minor in range(GATES[gate].stages[0].since[1], NEWEST[1] + 1)
            if (found := stage(gate, (1, minor))) is not None and found.default
        ),
        "",
    )
    move = f", or move to {since}" if since else ""
    where = "in the API server and the scheduler, the kubelet too"
    return f"switch the gate on (--feature-gates={gate}=true {where}){move}"


def _faults_of(value: Json, causes: list[Cause], settings: Settings) -> list[Fault]:
    """Causes as faults; several from one expression are told apart."""
    out: list[Fault] = []
    environment = environment_of(settings)
    for cause in causes:
        expression = at(value, *cause.path)
        is_cel = cause.field.endswith(".expression") and isinstance(expression, str)
        if is_cel and "exceeds cost limit" in cause.message:
            out.append(cost_fault(expression, str(cause), cause.path, environment))
        elif is_cel and cause.reason == "FieldValueInvalid":
            out += compile_faults(expression, str(cause), cause.path, environment)
        else:
            out.append(cause_fault(cause, value))
    return _without_repeats(out)


def _without_repeats(faults: list[Fault]) -> list[Fault]:
    seen: set[tuple[Any, ...]] = set()
    out = []
    for fault in faults:
        key = (fault.rule.code, fault.message, fault.path, fault.offset)
        if key not in seen:
            seen.add(key)
            out.append(fault)
    return out


def environment_of(settings: Settings, stored: bool = False) -> Environment:
    """The CEL environment of the server for new expressions (or for stored ones, as the scheduler has it)."""
    return _environment(settings.release, tuple(sorted(settings.gates.items())), stored)


@lru_cache(maxsize=64)
def _environment(release: Release, gates: tuple[tuple[str, bool], ...], stored: bool) -> Environment:
    values = enabled(release, dict(gates))
    return Environment(
        release,
        consumable_capacity=values.get("DRAConsumableCapacity", False),
        list_attributes=values.get("DRAListTypeAttributes", False),
        stored=stored,
    )
