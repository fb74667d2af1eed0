"""Whether a node fits a node selector, as the scheduler decides it (k8s.io/component-helpers nodeaffinity).

Terms are alternatives and an empty term fits nothing. Within a term all requirements on labels, and those on the field
``metadata.name``, must hold. NotIn and DoesNotExist hold for a missing label; Gt and Lt need whole numbers.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

from dractl.kube.names import label_key_errors, label_value_errors
from dractl.kube.objects import NodeRequirement, NodeSelector

_LABEL_OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt")
_OPERATORS = ", ".join(f'"{name}"' for name in _LABEL_OPERATORS)
_FIELD_OPERATORS = '"In", "NotIn"'
_NUMBER = re.compile(r"[+-]?[0-9]+")


class NodeSelectorError(ValueError):
    """The selector cannot be evaluated; the API server refuses such selectors."""


def matches(selector: NodeSelector, name: str, labels: Mapping[str, str]) -> bool:
    """Whether a node with this name and these labels fits.

    Raises:
        NodeSelectorError: when a requirement has an unknown operator or values that do not suit it.
    """
    terms = [term for term in selector.terms if term.match_expressions or term.match_fields]
    problems = []
    for index, term in enumerate(selector.terms):
        path = f"nodeSelectorTerms[{index}]"
        for number, requirement in enumerate(term.match_expressions):
            problems += _label_problems(requirement, f"{path}.matchExpressions[{number}]")
        problems += [p for i, r in enumerate(term.match_fields) if (p := _field_problem(r, f"{path}.matchFields[{i}]"))]
    if problems:
        problems = list(dict.fromkeys(problems))
        text = problems[0] if len(problems) == 1 else f"[{', '.join(problems)}]"
        raise NodeSelectorError(f"failed to parse node selector {_go_text(selector)}: {text}")
    return any(
        all(_label_holds(r, labels) for r in term.match_expressions)
        and (not name or all(_field_holds(r, name) for r in term.match_fields))
        for term in terms
    )


def _label_holds(requirement: NodeRequirement, labels: Mapping[str, str]) -> bool:
    value = labels.get(requirement.key)
    match requirement.operator:
        case "In":
            return value is not None and value in requirement.values
        case "NotIn":
            return value is None or value not in requirement.values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case _:
            if value is None or not _is_int64(value):
                return False
            bound = int(requirement.values[0])
            return int(value) > bound if requirement.operator == "Gt" else int(value) < bound


def _field_holds(requirement: NodeRequirement, name: str) -> bool:
    actual = name if requirement.key == "metadata.name" else ""
    return (actual == requirement.values[0]) is (requirement.operator == "In")


def _is_int64(text: str) -> bool:
    return _NUMBER.fullmatch(text) is not None and -(2**63) <= int(text) < 2**63


def _label_problems(requirement: NodeRequirement, path: str) -> list[str]:
    values = requirement.values
    shown = _go_list(values)
    if requirement.operator not in _LABEL_OPERATORS:
        return [f"{path}.operator: Unsupported value: {_quoted(requirement.operator)}: supported values: {_OPERATORS}"]
    out = []
    if wrong := label_key_errors(requirement.key):
        out.append(f"{path}.key: Invalid value: {_quoted(requirement.key)}: {'; '.join(wrong)}")
    match requirement.operator:
        case "In" | "NotIn":
            if not values:
                out.append(
                    f"{path}.values: Invalid value: null: for 'in', 'notin' operators, values set can't be empty"
                )
        case "Exists" | "DoesNotExist":
            if values:
                wanted = "values set must be empty for exists and does not exist"
                out.append(f"{path}.values: Invalid value: {shown}: {wanted}")
        case _:
            if len(values) != 1:
                wanted = "for 'Gt', 'Lt' operators, exactly one value is required"
                out.append(f"{path}.values: Invalid value: {shown}: {wanted}")
            wanted = "for 'Gt', 'Lt' operators, the value must be an integer"
            for index, value in enumerate(values):
                if not _is_int64(value):
                    out.append(f"{path}.values[{index}]: Invalid value: {_quoted(value)}: {wanted}")
    for index, value in enumerate(values):
        if wrong := label_value_errors(value):
            out.append(
                f"{path}.values[{index}][{requirement.key}]: Invalid value: {_quoted(value)}: {'; '.join(wrong)}"
            )
    return out


def _field_problem(requirement: NodeRequirement, path: str) -> str | None:
    if requirement.operator not in ("In", "NotIn"):
        return (
            f"{path}.operator: Unsupported value: {_quoted(requirement.operator)}: supported values: {_FIELD_OPERATORS}"
        )
    if len(requirement.values) != 1:
        return f"{path}.values: Invalid value: {_go_list(requirement.values)}: must have one element"
    return None


def _go_list(values: list[str]) -> str:
    return "[" + ",".join(map(_quoted, values)) + "]" if values else "null"


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _go_text(selector: NodeSelector) -> str:
    """The selector as the generated Go code prints it."""

    def requirements(items: list[NodeRequirement]) -> str:
        inner = "".join(
            f"NodeSelectorRequirement{{Key:{r.key},Operator:{r.operator},Values:[{' '.join(r.values)}],}},"
            for r in items
        )
        return f"[]NodeSelectorRequirement{{{inner}}}"

    terms = "".join(
        f"NodeSelectorTerm{{MatchExpressions:{requirements(t.match_expressions)},"
        f"MatchFields:{requirements(t.match_fields)},}},"
        for t in selector.terms
    )
    return f"&NodeSelector{{NodeSelectorTerms:[]NodeSelectorTerm{{{terms}}},}}"
