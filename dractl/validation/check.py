"""One object of a manifest: its version, the API server's verdict, advice, and its part in the whole."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from dractl.rules import advice as advice_rules
from dractl.rules import manifests as rules
from dractl.rules.finding import Severity
from dractl.validation import facts as collected
from dractl.validation import server, versions
from dractl.validation.advice import advice
from dractl.validation.applying import as_applied
from dractl.validation.around import around_faults
from dractl.validation.model import Fault, Json, Path, group_of, mapping, pod_views, text
from dractl.validation.plugins import plugin_faults
from dractl.validation.settings import GROUP, Settings

ACCEPTED = "accepted"
WARNED = "accepted-with-warning"
REJECTED = "rejected"
PASSED_OVER = "passed-over"

ALIKE = 5
"""Faults of one object that say the same are told one by one up to this number."""

_TEMPLATE_FIELDS = ("resourceClaims", "claims")


@dataclass(slots=True)
class Checked:
    """What is to be said of one object."""

    kind: str = ""
    api_version: str = ""
    namespace: str = ""
    name: str = ""
    verdict: str = ACCEPTED
    faults: list[Fault] = field(default_factory=list)
    facts: collected.Facts | None = None
    warnings: list[str] = field(default_factory=list)
    judgement: server.Judgement | None = None

    @property
    def stored(self) -> Json | None:
        """The object as the server stores it, if it accepts it."""
        return self.judgement.stored if self.judgement is not None and self.judgement.accepted else None


def check_object(
    value: Any,
    settings: Settings,
    *,
    old: Json | None = None,
    repeated: frozenset[Path] = frozenset(),
    source: str = "FILE",
    lenient_about_kind: bool = False,
) -> Checked:
    """Check one object.

    Args:
        value: the object as read.
        settings: the server that is assumed.
        old: the same object as it is in the cluster: the change is checked, too.
        repeated: paths of keys that were written twice.
        source: the name of its file, for the command lines in hints.
        lenient_about_kind: pass over documents that are no objects at all (files found in a folder).
    """
    if not isinstance(value, dict):
        return _not_an_object(value, lenient_about_kind)
    kind, api_version = text(value.get("kind")), text(value.get("apiVersion"))
    meta = mapping(value.get("metadata"))
    checked = Checked(kind, api_version, text(meta.get("namespace")), text(meta.get("name")) or _generated(meta))
    if not kind or not isinstance(value.get("kind"), str):
        return _without_kind(checked, value, lenient_about_kind)
    slip = _slip(value, kind, api_version)
    if slip is not None:
        checked.verdict = REJECTED
        checked.faults.append(slip)
        return checked
    if group_of(api_version) == GROUP:
        _check_group(checked, value, settings, old, repeated, source)
    elif server.known_to_server(value) and _same_version(kind, api_version):
        _judge(checked, value, settings, old, repeated)
        _advise(checked, value, settings)
    elif _is_core(kind, api_version) or pod_views(value):
        _check_pods(checked, value, settings)
        _advise(checked, value, settings)
    else:
        checked.faults += around_faults(value, settings)
        checked.verdict = ACCEPTED if checked.faults else PASSED_OVER
    if checked.verdict == ACCEPTED and any(_counts(fault) for fault in checked.faults):
        checked.verdict = WARNED
    if len(checked.faults) > ALIKE:
        checked.faults = _together(checked.faults)
    return checked


def _together(faults: list[Fault]) -> list[Fault]:
    """Faults that say the same of many entries of a list become one with their lines; fixes need each of them."""
    groups: dict[tuple[Any, ...], list[Fault]] = {}
    for number, fault in enumerate(faults):
        place = tuple("*" if isinstance(step, int) else step for step in fault.path)
        alone = number if "fix" in fault.evidence else None
        groups.setdefault((fault.rule.code, fault.message, place, alone), []).append(fault)
    out = []
    for group in groups.values():
        first = group[0]
        if len(group) > ALIKE:
            first.also = (*first.also, *(fault.path for fault in group[1 : ALIKE + 1]))
            first.message += f" (and {len(group) - 1} times more)"
            group = [first]
        out += group
    return out


def _counts(fault: Fault) -> bool:
    return (fault.severity or fault.rule.severity).at_least(Severity.WARNING)


def _generated(meta: Any) -> str:
    prefix = text(meta.get("generateName"))
    return f"{prefix}*" if prefix else ""


def _not_an_object(value: Any, lenient: bool) -> Checked:
    if lenient:
        return Checked(verdict=PASSED_OVER)
    what = "a list" if isinstance(value, list) else f"the text {str(value)[:40]!r}" if value else "nothing"
    message = f"an object is a mapping with apiVersion and kind; this is {what}"
    # a file of another program, named by a glob or a commit hook, is no reason to fail
    return Checked(verdict=PASSED_OVER, faults=[Fault(rules.NOT_AN_OBJECT, message, severity=Severity.WARNING)])


def _slip(value: Json, kind: str, api_version: str) -> Fault | None:
    """An object that kubectl itself refuses: without apiVersion, or a List whose items are no list."""
    if not api_version and ("metadata" in value or "spec" in value):
        message = f"apiVersion is missing, so kubectl cannot tell which {kind} is meant"
        return Fault(rules.NOT_AN_OBJECT, message, ("kind",))
    if kind == "List" and not isinstance(value.get("items"), list | None):
        return Fault(rules.NOT_AN_OBJECT, "items of a List has to be a list", ("items",))
    return None


def _without_kind(checked: Checked, value: Json, lenient: bool) -> Checked:
    """No kind: not Kubernetes at all, or a slip."""
    slip = "metadata" in value or "spec" in value or "kind" in value
    if lenient and not slip:
        checked.verdict = PASSED_OVER
        return checked
    checked.verdict = REJECTED if slip else PASSED_OVER
    missing = "kind is" if checked.api_version else "apiVersion and kind are"
    message = f"{missing} missing: kubectl answers Object 'Kind' is missing"
    if "kind" in value:
        message = f"kind has to be a text, not {value['kind']!r}"
    severity = None if slip else Severity.WARNING
    path: Path = ("kind",) if "kind" in value else ()
    checked.faults.append(Fault(rules.NOT_AN_OBJECT, message, path, severity=severity))
    return checked


def _same_version(kind: str, api_version: str) -> bool:
    wanted = {"Pod": "v1", "Job": "batch/v1", "CronJob": "batch/v1"}.get(kind, "apps/v1")
    return api_version == wanted


def _is_core(kind: str, api_version: str) -> bool:
    return kind == "Namespace" and api_version == "v1"


# --- resource.k8s.io ------------------------------------------------------------------------------------------------


def _check_group(
    checked: Checked, value: Json, settings: Settings, old: Json | None, repeated: frozenset[Path], source: str
) -> None:
    standing = versions.standing(value, settings)
    faults = versions.version_faults(standing, settings, source)
    checked.faults += faults
    if any((fault.severity or fault.rule.severity) is Severity.ERROR for fault in faults):
        checked.verdict = REJECTED
    if standing.life is None:
        return
    if versions.is_old(standing.version):
        checked.faults += versions.old_faults(value, standing)
        return
    if not server.known_to_server(value):
        return
    removed = standing.state != "present"
    seen = settings if not removed else _at_release(settings, standing.release)
    if standing.version == "v1alpha3" and (gone := versions.only_131(value)):
        checked.faults += [versions.gone_fault(path) for path in gone]
        seen = _at_release(settings, (1, 31)) if removed else settings
    _judge(checked, value, seen, old, repeated)
    if not removed:
        _advise(checked, value, settings)


def _at_release(settings: Settings, release: tuple[int, int]) -> Settings:
    """The same assumptions for another release, with its alpha features on."""
    from dractl.kube.gates import GATES

    return Settings(release, dict.fromkeys(GATES, True), settings.runtime, settings.complete, settings.namespaces)


def _judge(checked: Checked, value: Json, settings: Settings, old: Json | None, repeated: frozenset[Path]) -> None:
    judgement = server.judge(value if old is None else as_applied(value, old), settings, old, repeated)
    checked.faults += judgement.faults
    checked.warnings = judgement.warnings
    checked.judgement = judgement
    if not judgement.accepted:
        checked.verdict = REJECTED


def _advise(checked: Checked, value: Json, settings: Settings) -> None:
    environment = server.environment_of(settings)
    found = advice(value, settings, environment)
    if any(fault.rule is rules.UNKNOWN_FIELD for fault in checked.faults):
        # the requests are there, in a place where nobody reads them
        found = [fault for fault in found if fault.rule is not advice_rules.EMPTY_CLAIM]
    checked.faults += found
    checked.faults += plugin_faults(value)
    checked.faults += around_faults(value, settings)
    checked.facts = collected.collect(value, environment, settings.namespace)


# --- pod templates in kinds that are not known ------------------------------------------------------------------------


def _check_pods(checked: Checked, value: Json, settings: Settings) -> None:
    """The claim rules for every pod template of an object; the rest of it is another controller's business."""
    foreign = group_of(checked.api_version) not in ("", "apps", "batch")
    for pod in pod_views(value):
        stand_in = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "template", "labels": dict(pod.labels)},
            "spec": pod.spec,
        }
        if not server.known_to_server(stand_in):
            return
        judgement = server.judge(stand_in, settings)
        for fault in judgement.faults:
            if fault.path[:1] == ("spec",) and any(step in _TEMPLATE_FIELDS for step in fault.path):
                fault.path = (*pod.path, *fault.path[1:])
                if foreign and not fault.server.startswith(("unknown field", "json: ")):
                    note = f"said of the pods that the {checked.kind}'s controller makes of this template"
                    fault.evidence.setdefault("note", note)
                fault.also = tuple((*pod.path, *path[1:]) for path in fault.also)
                checked.faults.append(fault)
                checked.verdict = REJECTED
