"""Formats of names in the Kubernetes API and the messages about violations; limits of the DRA API as data.

Each ``*_errors`` function returns the messages that the API server prints after the bad value, in its order; an empty
tuple means that the text is valid. Lengths are in bytes of UTF-8, as Go counts them. Source: apimachinery's validation
packages and pkg/apis/core/validation of Kubernetes 1.34 to 1.37.
"""

from __future__ import annotations

import re
from functools import lru_cache

Messages = tuple[str, ...]

_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = _LABEL + r"(\." + _LABEL + ")*"
_KEY = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_VALUE = f"({_KEY})?"
_IDENTIFIER = "[A-Za-z_][A-Za-z0-9_]*"
_CONDITION_REASON = "[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?"

_LABEL_RE = re.compile(r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?")
_SUBDOMAIN_RE = re.compile(r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*")
_SUBDOMAIN_CASELESS_RE = re.compile(_SUBDOMAIN_RE.pattern, re.IGNORECASE | re.ASCII)
_KEY_RE = re.compile(r"(?:[A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]")
_IDENTIFIER_RE = re.compile(_IDENTIFIER)
_CONDITION_REASON_RE = re.compile(_CONDITION_REASON)

_LABEL_TEXT = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', "
    "and must start and end with an alphanumeric character"
)
_SUBDOMAIN_TEXT = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', "
    "and must start and end with an alphanumeric character"
)
_SUBDOMAIN_CASELESS_TEXT = (
    "an RFC 1123 subdomain must consist of alphanumeric characters, '-' or '.', "
    "and must start and end with an alphanumeric character"
)
_KEY_TEXT = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character"
)
_VALUE_TEXT = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', "
    "and must start and end with an alphanumeric character"
)
_IDENTIFIER_TEXT = (
    "a valid C identifier must start with alphabetic character or '_', "
    "followed by a string of alphanumeric characters or '_'"
)
_CONDITION_REASON_TEXT = (
    "a condition reason must start with alphabetic character, optionally followed by a string of alphanumeric "
    "characters or '_,:', and must end with an alphanumeric character or '_'"
)

LABEL_MAX = 63
SUBDOMAIN_MAX = 253
DRIVER_MAX = 63
IDENTIFIER_MAX = 32
POOL_MAX = 253
QUOTA_PREFIX = "requests."
NATIVE_DOMAIN = "kubernetes.io/"


def lower(text: str) -> str:
    """A text in small letters, letter by letter as Go does it (``\u0130`` becomes ``i`` alone)."""
    return text.lower() if text.isascii() else "".join(letter.lower()[0] for letter in text)


def byte_length(text: str) -> int:
    """Length in bytes of UTF-8."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def _pattern(text: str, pattern: str, *examples: str) -> str:
    shown = " or ".join(f"'{example}', " for example in examples)
    return f"{text} (e.g. {shown}regex used for validation is '{pattern}')"


@lru_cache(maxsize=8192)
def dns_label_errors(text: str, unit: str = "characters") -> Messages:
    """A DNS label (RFC 1123): requests, devices, counters. ``unit`` is the word in the message about length."""
    out = () if byte_length(text) <= LABEL_MAX else (f"must be no more than {LABEL_MAX} {unit}",)
    if not _LABEL_RE.fullmatch(text):
        if _SUBDOMAIN_RE.fullmatch(text):
            return (*out, "must not contain dots")
        return (*out, _pattern(_LABEL_TEXT, _LABEL, "my-name", "123-abc"))
    return out


@lru_cache(maxsize=8192)
def dns_subdomain_errors(text: str, unit: str = "characters") -> Messages:
    """A DNS subdomain (RFC 1123): object names, classes, nodes. ``unit`` is the word in the message about length."""
    out = () if byte_length(text) <= SUBDOMAIN_MAX else (f"must be no more than {SUBDOMAIN_MAX} {unit}",)
    if not _SUBDOMAIN_RE.fullmatch(text):
        return (*out, _pattern(_SUBDOMAIN_TEXT, _SUBDOMAIN, "example.com"))
    return out


@lru_cache(maxsize=1024)
def dns_subdomain_caseless_errors(text: str) -> Messages:
    """A DNS subdomain in either case, as declarative validation words it."""
    out = () if byte_length(text) <= SUBDOMAIN_MAX else (f"must be no more than {SUBDOMAIN_MAX} bytes",)
    if not _SUBDOMAIN_CASELESS_RE.fullmatch(text):
        return (*out, _pattern(_SUBDOMAIN_CASELESS_TEXT, _SUBDOMAIN, "Example.com"))
    return out


@lru_cache(maxsize=8192)
def label_key_errors(text: str, unit: str = "bytes") -> Messages:
    """A label key (also taint keys, condition types, finalizers): an optional subdomain, a slash and a name.

    ``unit`` is the word in messages about length; releases before 1.35 said characters, and "qualified name".
    """
    prefix, slash, name = text.partition("/")
    out: list[str] = []
    if not slash:
        name = prefix
    elif "/" in name:
        message = _pattern(_KEY_TEXT, _KEY, "MyName", "my.name", "123-abc")
        with_prefix = " with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
        kind = "a valid label key " if unit == "bytes" else "a qualified name "
        return (kind + message + with_prefix,)
    elif not prefix:
        out.append("prefix part must be non-empty")
    else:
        out += [f"prefix part {message}" for message in dns_subdomain_errors(prefix, unit)]
    if not name:
        out.append("name part must be non-empty")
    elif byte_length(name) > LABEL_MAX:
        out.append(f"name part must be no more than {LABEL_MAX} {unit}")
    if not _KEY_RE.fullmatch(name):
        out.append("name part " + _pattern(_KEY_TEXT, _KEY, "MyName", "my.name", "123-abc"))
    return tuple(out)


@lru_cache(maxsize=8192)
def label_value_errors(text: str, unit: str = "bytes") -> Messages:
    """A label value; empty is valid."""
    out = () if byte_length(text) <= LABEL_MAX else (f"must be no more than {LABEL_MAX} {unit}",)
    if text and not _KEY_RE.fullmatch(text):
        return (*out, _pattern(_VALUE_TEXT, _VALUE, "MyValue", "my_value", "12345"))
    return out


@lru_cache(maxsize=8192)
def c_identifier_errors(text: str) -> Messages:
    """An identifier of the C language; its length is not looked at."""
    if _IDENTIFIER_RE.fullmatch(text):
        return ()
    return (_pattern(_IDENTIFIER_TEXT, _IDENTIFIER, "my_name", "MY_NAME", "MyName"),)


@lru_cache(maxsize=1024)
def condition_reason_errors(text: str) -> Messages:
    """The reason of a condition; its length is not looked at."""
    if _CONDITION_REASON_RE.fullmatch(text):
        return ()
    return (
        _pattern(
            _CONDITION_REASON_TEXT,
            _CONDITION_REASON,
            "my_name",
            "MY_NAME",
            "MyName",
            "ReasonA,ReasonB",
            "ReasonA:ReasonB",
        ),
    )


@lru_cache(maxsize=1024)
def path_segment_errors(text: str) -> Messages:
    """A name that becomes part of a URL path."""
    if text in {".", ".."}:
        return (f"may not be '{text}'",)
    return tuple(f"may not contain '{illegal}'" for illegal in "/%" if illegal in text)


def is_native_resource(name: str) -> bool:
    """Whether a resource name belongs to Kubernetes itself (no domain, or one under kubernetes.io)."""
    return "/" not in name or NATIVE_DOMAIN in name


@lru_cache(maxsize=1024)
def is_extended_resource(name: str) -> bool:
    """Whether a resource name is that of an extended resource (``domain/name``)."""
    if is_native_resource(name) or name.startswith(QUOTA_PREFIX):
        return False
    return not label_key_errors(QUOTA_PREFIX + name)


def mask_trailing_dash(prefix: str) -> str:
    """What the API server checks in the place of a ``generateName``: it takes two characters off and adds an ``a``."""
    if byte_length(prefix) > 1 and prefix.endswith("-"):
        return prefix[:-2] + "a"
    return prefix
