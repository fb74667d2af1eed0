"""Merge the type dumps of several Kubernetes releases (see main.go.tmpl) into dractl/validation/data/apitypes.json.

    python scripts/apitypes/build.py 1.31=dump-1.31.json 1.32=dump-1.32.json ... OUT

A dump is what the filled-in program prints for one release: ``go run .`` in a module that requires k8s.io/api,
k8s.io/apimachinery and, for the internal types, k8s.io/kubernetes of that release. In the output every field is a list
[JSON name, Go name, embedding, type, omitempty flags, first minor, last minor]; a last minor of 0 means "still there".
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

Field = tuple[str, str, str, str, str]


def ranges(minors: list[int], all_minors: list[int]) -> list[tuple[int, int]]:
    """Runs of consecutive releases; 0 as an end stands for the newest one."""
    out: list[tuple[int, int]] = []
    previous = -1
    for minor in minors:
        position = all_minors.index(minor)
        if out and position == previous + 1:
            out[-1] = (out[-1][0], minor)
        else:
            out.append((minor, minor))
        previous = position
    return [(start, 0 if end == all_minors[-1] else end) for start, end in out]


def merge_structs(dumps: dict[int, Any]) -> dict[str, Any]:
    """Fields of all releases, in the order of the newest release that has them."""
    minors = sorted(dumps)
    names = sorted({name for dump in dumps.values() for name in dump["structs"]})
    out: dict[str, Any] = {}
    for name in names:
        order: list[Field] = []
        present: dict[Field, list[int]] = {}
        for minor in reversed(minors):
            fields = dumps[minor]["structs"].get(name) or []
            keys = [(f["json"], f["go"], f.get("embed", ""), f["type"], f.get("omit", "")) for f in fields]
            at = 0
            for key in keys:
                if key in order:
                    at = order.index(key) + 1
                else:
                    order.insert(at, key)
                    at += 1
                present.setdefault(key, []).insert(0, minor)
        entries = [[*key, start, end] for key in order for start, end in ranges(present[key], minors)]
        for minor in minors:
            fields = dumps[minor]["structs"].get(name) or []
            got = [e[0] for e in entries if e[5] <= minor <= (e[6] or 99)]
            if got != [f["json"] for f in fields]:
                entries = separate(name, dumps, minors)
                break
        out[name] = entries
    return out


def separate(name: str, dumps: dict[int, Any], minors: list[int]) -> list[Any]:
    """The fields of each release apart, for a struct whose order changed between releases."""
    return [
        [f["json"], f["go"], f.get("embed", ""), f["type"], f.get("omit", ""), m, 0 if m == minors[-1] else m]
        for m in minors
        for f in dumps[m]["structs"].get(name) or []
    ]


def reachable(structs: dict[str, Any], scalars: dict[str, str], roots: list[str]) -> set[str]:
    """Names of the structs that the roots lead to."""
    seen: set[str] = set()
    queue = list(roots)
    while queue:
        name = queue.pop()
        if name in scalars:
            queue += re.findall(r"[a-z][\w/]*\.\w+", scalars[name])
        if name in seen or name not in structs:
            continue
        seen.add(name)
        for entry in structs[name]:
            queue += re.findall(r"[a-z][\w/]*\.\w+", entry[3])
    return seen


def merge_kinds(dumps: dict[int, Any]) -> dict[str, Any]:
    """Per kind a list of [first minor, last minor, facts]."""
    minors = sorted(dumps)
    out: dict[str, Any] = {}
    for kind in sorted({k for dump in dumps.values() for k in dump["kinds"] if "__internal" not in k}):
        groups: dict[str, list[int]] = {}
        for minor in minors:
            if kind in dumps[minor]["kinds"]:
                groups.setdefault(json.dumps(dumps[minor]["kinds"][kind], sort_keys=True), []).append(minor)
        out[kind] = sorted([[s, e, json.loads(facts)] for facts, ms in groups.items() for s, e in ranges(ms, minors)])
    return out


def main() -> None:
    """Read the dumps named on the command line and write the table."""
    *dump_arguments, out = sys.argv[1:]
    dumps = {}
    for argument in dump_arguments:
        release, path = argument.split("=")
        dumps[int(release.split(".")[1])] = json.loads(Path(path).read_text())
    scalars: dict[str, str] = {}
    for dump in dumps.values():
        scalars |= dump["scalars"]
    structs = merge_structs(dumps)
    roots = [fact["type"] for entries in merge_kinds(dumps).values() for *_, fact in entries]
    roots += [name for name in structs if name.startswith("internal/resource.")] + ["internal/core.PodResourceClaim"]
    keep = reachable(structs, scalars, roots)
    table: dict[str, Any] = {
        "minors": sorted(dumps),
        "kinds": merge_kinds(dumps),
        "scalars": {name: kind for name, kind in sorted(scalars.items()) if kind != "string"},
        "structs": {name: fields for name, fields in structs.items() if name in keep},
    }
    lines = []
    for section in ("minors", "kinds", "scalars"):
        lines.append(f'"{section}": {json.dumps(table[section], separators=(",", ":"))}')
    body = ",\n".join(f"{json.dumps(n)}: {json.dumps(f, separators=(',', ':'))}" for n, f in table["structs"].items())
    lines.append(f'"structs": {{\n{body}\n}}')
    Path(out).write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
