"""Read the API server's generated declarative rules into dractl/validation/data/declared.json.

    python scripts/apitypes/declared.py OUT PACKAGE=VALIDATIONS_GO=TYPES_GO ...

PACKAGE is a name as in apitypes.json (``resource/v1``), VALIDATIONS_GO its zz_generated.validations.go and TYPES_GO the
types.go with the constants of its enums. A rule is an object: ``rule`` (the name of the check), ``mark`` (alpha, beta
or empty), ``stop`` (later rules of the field are skipped when it fails), ``quiet`` (its own error is not reported), and
arguments by name.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

Rule = dict[str, Any]


def balanced(text: str, start: int, opening: str = "(", closing: str = ")") -> int:
    """Index after the bracket that closes the one at ``start``; strings are skipped."""
    depth = 0
    quoted = ""
    for index in range(start, len(text)):
        char = text[index]
        if quoted:
            if char == quoted and text[index - 1] != "\\":
                quoted = ""
        elif char in "\"`":
            quoted = char
        elif char == opening:
            depth += 1
        elif char == closing:
            depth -= 1
            if depth == 0:
                return index + 1
    raise SystemExit("unbalanced brackets")


def arguments(text: str) -> list[str]:
    """Arguments of a call, split at commas of the outermost level."""
    out, depth, current = [], 0, ""
    for char in text:
        depth += (char in "([{") - (char in ")]}")
        if char == "," and depth == 0:
            out.append(current.strip())
            current = ""
        else:
            current += char
    return [*out, current.strip()] if current.strip() else out


class Package:
    """One generated file."""

    def __init__(self, name: str, source: str, constants: dict[str, str]) -> None:
        self.name = name
        self.source = re.sub(r"^\s*//(?! field ).*$", "", source, flags=re.MULTILINE)
        self.constants = constants
        self.enums = {
            match[1]: sorted(constants[part.split(".")[-1].strip()] for part in match[2].split(","))
            for match in re.finditer(r"^var symbolsFor(\w+) = sets\.New\(([^)]*)\)", self.source, re.MULTILINE)
        }

    def structs(self) -> dict[str, Any]:
        """Rules by type: its own, and those of its fields."""
        out = {}
        for match in re.finditer(r"^func Validate_(\w+)\(", self.source, re.MULTILINE):
            start = self.source.index("{\n", match.end())
            body = self.source[start : balanced(self.source, start, "{", "}")]
            out[f"{self.name}.{match[1]}"] = self.struct(body)
        return out

    def struct(self, body: str) -> dict[str, Any]:
        fields: dict[str, list[Rule]] = {}
        rest = body
        while True:
            found = re.search(r"\{ // field [\w.]+", rest)
            if not found:
                break
            end = balanced(rest, found.start(), "{", "}")
            block = rest[found.start() : end]
            child = re.search(r'fn\(fldPath\.Child\("(\w+)"\)', block) or re.search(r'fldPath\.Child\("(\w+)"\)', block)
            fields[child[1] if child else ""] = self.rules(block)
            rest = rest[: found.start()] + rest[end:]
        return {"rules": self.rules(rest), "fields": {name: rules for name, rules in fields.items() if rules}}

    def rules(self, text: str) -> list[Rule]:
        """The checks of a piece of code, in order."""
        out = []
        for match in re.finditer(r"if e := validate\.(\w+)\(|errs = append\(errs, (?:\w+\.)?Validate_(\w+)\(", text):
            if match[2]:
                out.append({"rule": "type", "mark": "", "type": self.type_name(match[2])})
                continue
            end = balanced(text, match.end() - 1)
            chain_end = text.index("{", end)
            chain = text[end:chain_end]
            block = text[chain_end : balanced(text, chain_end, "{", "}")]
            rule = self.call(match[1], arguments(text[match.end() : end - 1])[5:])
            rule["mark"] = "alpha" if "MarkAlpha" in chain else "beta" if "MarkBeta" in chain else ""
            if "earlyReturn" in block:
                rule["stop"] = True
            if "append" not in block:
                rule["quiet"] = True
            out.append(rule)
        return out

    def type_name(self, name: str) -> str:
        shared = {"ObjectMeta", "Condition", "ConditionStatus"}
        return f"meta/v1.{name}" if name in shared else f"{self.name}.{name}"

    def call(self, name: str, args: list[str]) -> Rule:
        rule: Rule = {"rule": name}
        if name == "Enum":
            rule["values"] = self.enums[args[0].removeprefix("symbolsFor")]
        elif name in {"MaxItems", "MaxBytes", "MaxLength", "Minimum", "Maximum"}:
            rule["limit"] = int(args[0])
        elif name == "ValSliceUnique":
            rule["key"] = self.key(args[0])
        elif name == "EachValSliceVal":
            rule |= {"key": self.key(args[0]), "same": args[1] != "nil", "each": self.validator(args[2])}
        elif name == "EachMapVal":
            rule["each"] = self.validator(args[1])
        elif name == "EachMapKey":
            rule["each"] = self.validator(args[0])
        elif name == "Subfield":
            rule |= {"field": args[0].strip('"'), "each": self.validator(args[3])}
        elif name == "IfOption":
            rule |= {"option": args[0].strip('"'), "on": args[1] == "true", "each": self.validator(args[2])}
        elif name == "Union":
            rule["fields"] = [self.accessor(part) for part in args[1:]]
            rule["names"] = self.members(args[0])
        elif name == "DependentRequired":
            rule |= {"trigger": args[0].strip('"'), "dependent": args[2].strip('"')}
        elif name == "UpdatePointer":
            rule["constraints"] = [part.removeprefix("validate.") for part in args]
        return rule

    def members(self, variable: str) -> list[str]:
        line = re.search(rf"^var {variable} = (.*)$", self.source, re.MULTILINE)
        assert line is not None
        return re.findall(r'NewUnionMember\("(\w+)"\)', line[1])

    @staticmethod
    def accessor(text: str) -> list[str]:
        """The Go field of a union's member, and whether it counts when it is not nil or when it is not empty."""
        found = re.search(r"return (len\()?obj\.(\w+)", text)
        assert found is not None
        return [found[2], "filled" if found[1] else "set"]

    @staticmethod
    def key(text: str) -> list[str] | None:
        """Go fields that make two elements the same; empty for the whole element, None for no correlation."""
        if text == "nil":
            return None
        if text == "validate.DirectEqual":
            return []
        return sorted(set(re.findall(r"\ba\.(\w+)", text)))

    def validator(self, text: str) -> Rule:
        if text.startswith("validate."):
            return {"rule": text.removeprefix("validate."), "mark": ""}
        named = re.fullmatch(r"(?:\w+\.)?Validate_(\w+)", text)
        if named:
            return {"rule": "type", "mark": "", "type": self.type_name(named[1])}
        inner = re.search(r"validate\.(\w+)\(", text)
        assert inner is not None
        end = balanced(text, inner.end() - 1)
        return {**self.call(inner[1], arguments(text[inner.end() : end - 1])[5:]), "mark": ""}


def constants(source: str) -> dict[str, str]:
    """String constants of a types.go."""
    return dict(re.findall(r'^\s*(\w+)\s+[^=\n]*=\s*[^"\n]*"([^"\n]*)"', source, re.MULTILINE))


def main() -> None:
    """Write the table."""
    out, *packages = sys.argv[1:]
    table: dict[str, Any] = {}
    for package in packages:
        name, validations, types = package.split("=")
        known = constants(Path(types).read_text())
        table |= Package(name, Path(validations).read_text(), known).structs()
    lines = [f"{json.dumps(n)}: {json.dumps(table[n], separators=(',', ':'))}" for n in sorted(table)]
    Path(out).write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
