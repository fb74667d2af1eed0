"""Named formats: ``format.dns1123Label().validate(text)`` and the like.

Declarations: ``decl_kubernetes.FORMAT``. Source: ``k8s.io/apiserver/pkg/cel/library/format.go``;
``k8s.io/apimachinery/pkg/util/validation``; ``k8s.io/kube-openapi/pkg/validation/strfmt``.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date

from dractl.cel.library.urls import request_error
from dractl.cel.values import OPTIONAL_NONE, NamedFormat, Optional, Value

_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = rf"{_LABEL}(\.{_LABEL})*"
_OLD_LABEL = "[a-z]([-a-z0-9]*[a-z0-9])?"
_KEY = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_LABEL_VALUE = f"({_KEY})?"

_LABEL_RULE = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with "
    "an alphanumeric character"
)
_SUBDOMAIN_RULE = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and "
    "end with an alphanumeric character"
)
_OLD_LABEL_RULE = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, "
    "and end with an alphanumeric character"
)
_KEY_RULE = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character"
)
_LABEL_VALUE_RULE = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and "
    "end with an alphanumeric character"
)


def _too_long(limit: int, unit: str = "characters") -> str:
    return f"must be no more than {limit} {unit}"


def _rule(rule: str, pattern: str, *examples: str) -> str:
    shown = " or ".join(f"'{example}', " for example in examples)
    return f"{rule} (e.g. {shown}regex used for validation is '{pattern}')"


def _matches(pattern: str, text: str) -> bool:
    return re.fullmatch(pattern, text) is not None


def _bytes_in(text: str) -> int:
    return len(text.encode("utf-8", "surrogateescape"))


def dns1123_label(text: str) -> list[str]:
    faults = [_too_long(63)] if _bytes_in(text) > 63 else []
    if not _matches(_LABEL, text):
        dots = _matches(_SUBDOMAIN, text)
        faults.append("must not contain dots" if dots else _rule(_LABEL_RULE, _LABEL, "my-name", "123-abc"))
    return faults


def dns1123_subdomain(text: str, unit: str = "characters") -> list[str]:
    faults = [_too_long(253, unit)] if _bytes_in(text) > 253 else []
    if not _matches(_SUBDOMAIN, text):
        faults.append(_rule(_SUBDOMAIN_RULE, _SUBDOMAIN, "example.com"))
    return faults


def dns1035_label(text: str) -> list[str]:
    faults = [_too_long(63)] if _bytes_in(text) > 63 else []
    if not _matches(_OLD_LABEL, text):
        faults.append(_rule(_OLD_LABEL_RULE, _OLD_LABEL, "my-name", "abc-123"))
    return faults


def qualified_name(text: str, unit: str = "bytes", thing: str = "valid label key") -> list[str]:
    parts = text.split("/")
    name = _rule(_KEY_RULE, _KEY, "MyName", "my.name", "123-abc")
    if len(parts) > 2:
        return [f"a {thing} {name} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"]
    faults: list[str] = []
    if len(parts) == 2:
        if not parts[0]:
            faults.append("prefix part must be non-empty")
        else:
            faults += [f"prefix part {fault}" for fault in dns1123_subdomain(parts[0], unit)]
    if not parts[-1]:
        faults.append("name part must be non-empty")
    elif _bytes_in(parts[-1]) > 63:
        faults.append(f"name part {_too_long(63, unit)}")
    if not _matches(_KEY, parts[-1]):
        faults.append(f"name part {name}")
    return faults


def label_value(text: str, unit: str = "bytes") -> list[str]:
    faults = [_too_long(63, unit)] if _bytes_in(text) > 63 else []
    if not _matches(_LABEL_VALUE, text):
        faults.append(_rule(_LABEL_VALUE_RULE, _LABEL_VALUE, "MyValue", "my_value", "12345"))
    return faults


def _as_prefix(check: Callable[[str], list[str]]) -> Callable[[str], list[str]]:
    """The check of a prefix of a name: a dash at its end, and the character before it, do not count."""

    def checked(text: str) -> list[str]:
        return check(text[:-2] + "a" if len(text) > 1 and text.endswith("-") else text)

    return checked


def _uri(text: str) -> list[str]:
    error = request_error(text)
    return [error] if error is not None else []


_UUID = re.compile(r"[0-9a-f]{8}(-?[0-9a-f]{4}){3}-?[0-9a-f]{12}", re.IGNORECASE | re.ASCII)
_BASE64 = re.compile(r"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})")
_DATE = re.compile(r"([0-9]{4})-([0-9]{2})-([0-9]{2})", re.ASCII)
_CLOCK = re.compile(r"([0-9]{2}):([0-9]{2}):([0-9]{2})(.[0-9]+)?(z|[+-][0-9]{2}:[0-9]{2})", re.ASCII)


def _is_date(text: str) -> bool:
    shape = _DATE.fullmatch(text)
    if shape is None:
        return False
    year, month, day = map(int, shape.groups())
    try:
        date(year or 400, month, day)
    except ValueError:
        return False
    return True


def _is_datetime(text: str) -> bool:
    parts = text.lower().split("t")
    if len(text) < 4 or len(parts) < 2 or not _is_date(parts[0]):
        return False
    clock = _CLOCK.fullmatch(parts[1])
    return clock is not None and clock[1] <= "23" and clock[2] <= "59" and clock[3] <= "59"


def _tested(holds: Callable[[str], bool], fault: str) -> Callable[[str], list[str]]:
    return lambda text: [] if holds(text) else [fault]


FORMATS = {
    "dns1123Label": NamedFormat("DNS1123Label", dns1123_label, 30),
    "dns1123Subdomain": NamedFormat("DNS1123Subdomain", dns1123_subdomain, 60),
    "dns1035Label": NamedFormat("DNS1035Label", dns1035_label, 30),
    "qualifiedName": NamedFormat("QualifiedName", qualified_name, 60),
    "dns1123LabelPrefix": NamedFormat("DNS1123LabelPrefix", _as_prefix(dns1123_label), 30),
    "dns1123SubdomainPrefix": NamedFormat("DNS1123SubdomainPrefix", _as_prefix(dns1123_subdomain), 60),
    "dns1035LabelPrefix": NamedFormat("DNS1035LabelPrefix", _as_prefix(dns1035_label), 30),
    "labelValue": NamedFormat("LabelValue", label_value, 40),
    "uri": NamedFormat("URI", _uri, 1103),
    "uuid": NamedFormat(
        "uuid", _tested(lambda text: _UUID.fullmatch(text) is not None, "does not match the UUID format"), 70
    ),
    "byte": NamedFormat("byte", _tested(lambda text: _BASE64.fullmatch(text) is not None, "invalid base64"), 84),
    "date": NamedFormat("date", _tested(_is_date, "invalid date"), 71),
    "datetime": NamedFormat("datetime", _tested(_is_datetime, "invalid datetime"), 71),
}
"""By the name in ``format.named``, since 1.35. The sizes are those that Kubernetes charges for."""

_FORMATS_BEFORE_135 = {
    **FORMATS,
    "qualifiedName": NamedFormat(
        "QualifiedName", lambda text: qualified_name(text, "characters", "qualified name"), 60
    ),
    "labelValue": NamedFormat("LabelValue", lambda text: label_value(text, "characters"), 40),
}


def _constant(found: NamedFormat) -> Callable[[], NamedFormat]:
    return lambda: found


def _named(formats: dict[str, NamedFormat]) -> Callable[[str], Optional]:
    def named(name: str) -> Optional:
        found = formats.get(name)
        return OPTIONAL_NONE if found is None else Optional(found)

    return named


def _overloads(formats: dict[str, NamedFormat]) -> dict[str, Callable[..., Value]]:
    constants = {f"format.{name}": _constant(found) for name, found in formats.items()}
    return {**constants, "format-named": _named(formats)}


def validate(found: NamedFormat, text: str) -> Optional:
    faults = found.validate(text)
    return Optional(faults) if faults else OPTIONAL_NONE


OVERLOADS: dict[str, Callable[..., Value]] = {**_overloads(FORMATS), "format-validate": validate}
BEFORE_135 = _overloads(_FORMATS_BEFORE_135)
