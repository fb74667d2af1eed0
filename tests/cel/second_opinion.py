"""Recorded expressions put to another implementation of CEL, Google's cel-cpp (``cel-expr-python``).

``python tests/cel/second_opinion.py`` prints how often it says what Kubernetes says, and why it differs where it does.
Kubernetes' answers are recorded, so Kubernetes is right by definition, and dractl agrees with every one of them
(``test_recorded.py``). Of 5,291 answers on Kubernetes 1.36, cel-cpp 0.1.3 gives 4,128. It lacks libraries (577) and
comparisons of numbers of different types (121), takes results and lists that Kubernetes refuses (158) and constants
that can only fail (80), and knows no default for a domain that a device does not have (56). Where both have a value,
three things differ: cel-go refuses to order NaN and cel-cpp says false, RE2 finds ``\\B`` between the bytes of a
character and Go does not, and messages are filled with other conversions.
"""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "conformance"), str(HERE.parent.parent)]

from cases import document, lines  # noqa: E402

DRIVER = "gpu.example.com"
REFUSED, ERROR = "refused", "error"


class SecondOpinion:
    """The other implementation with what it has of Kubernetes' environment."""

    def __init__(self) -> None:
        from cel_expr_python import cel
        from cel_expr_python.ext import ext_bindings, ext_optional, ext_strings

        extensions = [ext_bindings.ExtBindings(), ext_optional.ExtOptional(), ext_strings.ExtStrings()]
        self.error = cel.Type.ERROR
        self.env = cel.NewEnv(variables={"device": cel.Type.DYN}, extensions=extensions)

    def compile(self, expression: str) -> tuple[Any, str]:
        """The program, or None and the compile error."""
        try:
            return self.env.compile(expression), ""
        except Exception as error:
            return None, str(error)

    def outcome(self, program: Any, device: dict[str, Any]) -> tuple[object, str]:
        """``True``, ``False`` or ``error``, and the error's text."""
        try:
            found = program.eval(data={"device": device})
            value = found.value()
        except Exception as error:
            return ERROR, str(error)
        if found.type() == self.error:
            return ERROR, str(value)
        return (value, "") if isinstance(value, bool) else (ERROR, f"a result of type {type(value).__name__}")


def seen(device: dict[str, Any]) -> dict[str, Any]:
    """A device as a map; versions and quantities, which the other implementation lacks, are texts."""
    found: dict[str, Any] = {"driver": DRIVER, "allowMultipleAllocations": False}
    found |= {kind: {DRIVER: {}} for kind in ("attributes", "capacity")}
    for kind in ("attributes", "capacity"):
        for qualified, item in device.get(kind, {}).items():
            domain, slash, name = qualified.rpartition("/")
            (value,) = item.values()
            found[kind].setdefault(domain if slash else DRIVER, {})[name] = value
    return found


KUBERNETES = (
    "quantity", "Quantity", "semver", "Semver", "url(", "isURL", "ip(", "isIP", "ip.", "cidr(", "isCIDR", "format.",
    "isInteger", "asInteger", "asApproximateFloat", "compareTo", "isGreaterThan", "isLessThan", "sign(", ".add(",
    ".sub(", "major()", "minor()", "patch()", "find(", "findAll", "isSorted", "includes", ".sum()", ".min()", ".max()",
    "indexOf", "lastIndexOf", "isLoopback", "isUnspecified", "isGlobalUnicast", "isLinkLocal", "containsIP",
    "containsCIDR", "allowed(", "errored(", "getScheme", "getHost", "getPort", "getQuery", "getEscapedPath", "masked(",
    "prefixLength", "family(", "isCanonical", "validate(", "check(", "reason(", "error(",
)  # fmt: skip
EXTENSIONS = (
    "sets.", "sort()", "sortBy", "flatten", "distinct", "slice", "lists.range", "reverse", "first()", "last()",
    "transformList", "transformMap", "existsOne", "unwrap", "strings.quote",
)  # fmt: skip

TWO_VARIABLES = re.compile(r"\.(all|exists|exists_one)\(\s*\w+\s*,\s*\w+\s*,")
MIXED_NUMBERS = re.compile(r"'(_[<>]=?_|_[=!]=_)' applied to '\((int|uint|double), (int|uint|double)\)'")
AGAINST_NAN = "NaN values cannot be ordered"
UNEXPLAINED = "for another reason"


def reason(expression: str, kubernetes: object, other: object, recorded: str, text: str) -> str:
    """Why two answers differ."""
    if other == REFUSED:
        return _refused(expression, text)
    if kubernetes == REFUSED:
        return _taken(recorded)
    for found, why in (
        (AGAINST_NAN in recorded, "orders NaN"),
        ("google.protobuf." in expression, "fills protobuf's messages differently"),
        ("Invalid map key type" in text, "refuses keys that Kubernetes takes"),
        ("\\\\B" in expression, "finds \\B between the bytes of a character"),
        ("substring" in expression, "counts the ends of substrings differently"),
        (any(name in expression for name in ("ver", "cc", "pre", "capacity")), "has versions and quantities as texts"),
        ("not found" in text or "attributes." in expression, "has no default for a domain without attributes"),
        ("attributes[?" in expression or "in device.attributes" in expression, "has no default for a domain"),
    ):
        if found:
            return why
    return UNEXPLAINED


def _refused(expression: str, text: str) -> str:
    if "recursion" in text:
        return "nests only 32 levels deep"
    if "google.protobuf.Empty" in text:
        return "lacks google.protobuf.Empty"
    for names, why in ((KUBERNETES, "lacks Kubernetes' libraries"), (EXTENSIONS, "lacks extension libraries")):
        if any(name in expression for name in names):
            return why
    if MIXED_NUMBERS.search(text):
        return "does not compare numbers of different types"
    if TWO_VARIABLES.search(expression):
        return "lacks comprehensions with two variables"
    return UNEXPLAINED


def _taken(recorded: str) -> str:
    for words, why in (
        ("string.format", "does not check the arguments of format beforehand"),
        ("error during formatting", "does not check the arguments of format beforehand"),
        ("program instantiation failed", "takes constants that can only fail"),
        (" argument\n", "takes literals that can only fail"),
        ("expected type", "takes lists of mixed types"),
        ("must evaluate to bool", "takes results of any type"),
        ("unsupported syntax", "takes names in backticks"),
        ("undefined field", "takes the device for a map of anything"),
        ("cannot be range", "takes the device for a map of anything"),
        ("no matching overload", "takes the device for a map of anything"),
    ):
        if words in recorded:
            return why
    return UNEXPLAINED


def cases() -> Iterator[tuple[dict[str, Any], dict[str, dict[str, Any]]]]:
    """The recorded cases of Kubernetes 1.36 and the devices they were evaluated on."""
    data = document("cel.json.gz")
    devices = {each["name"]: seen(each) for each in data["devices"]}
    for case in data["cases"]:
        if not case["environment"]["listTypeAttributes"]:
            yield case, devices
    own = {each["name"]: seen(each) for each in json.loads((HERE / "devices.json").read_text())}
    for case in lines("recorded-1.36.jsonl.gz"):
        if not case["list"]:
            yield case, own
    for case in lines("edges-1.36.jsonl.gz"):
        yield case, devices


def compare(opinion: SecondOpinion) -> tuple[Counter[str], dict[str, list[str]]]:
    """How many answers are the same and how many differ for each reason, with examples."""
    counts: Counter[str] = Counter()
    examples: dict[str, list[str]] = {}

    def note(expression: str, kubernetes: object, other: object, recorded: str, text: str) -> None:
        if kubernetes == other:
            counts["same"] += 1
            return
        why = reason(expression, kubernetes, other, recorded, text)
        counts[why] += 1
        examples.setdefault(why, []).append(f"{expression!r}: {kubernetes} {recorded!r}, not {other} {text!r}")

    for case, devices in cases():
        expression = case["expression"]
        program, text = opinion.compile(expression)
        if case.get("compileError") or program is None:
            kubernetes = REFUSED if case.get("compileError") else "accepted"
            other = REFUSED if program is None else "accepted"
            note(expression, kubernetes, other, case.get("compileError") or "", text)
            continue
        for result in case["results"]:
            other, text = opinion.outcome(program, devices[result["device"]])
            note(
                expression,
                ERROR if "error" in result else result["match"],
                other,
                result.get("error", ""),
                text,
            )
    return counts, examples


def main() -> int:
    counts, examples = compare(SecondOpinion())
    total = sum(counts.values())
    for why, count in counts.most_common():
        print(f"{count:6} of {total}  {why}")
        for text in examples.get(why, [])[: int(sys.argv[1]) if len(sys.argv) > 1 else 2]:
            print(f"{'':17}{text[:300]}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
