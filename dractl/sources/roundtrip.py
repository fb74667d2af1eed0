"""YAML text <-> documents that keep comments, order, quotes and indentation."""

from __future__ import annotations

import io
import json
import re
from typing import Any

from dractl.errors import DractlError

_SEQUENCE = re.compile(r"^( *)(?:- )?[^\s#:][^#\n]*:[ \t]*(?:#.*)?\n(?:[ \t]*(?:#.*)?\n)*( *)- ", re.MULTILINE)
_LIMIT = 20_000_000


def load(text: str, name: str) -> list[Any]:
    """All documents of a stream.

    Raises:
        DractlError: with the file and line of what is no YAML.
    """
    from ruamel.yaml.error import MarkedYAMLError, YAMLError

    if len(text) > _LIMIT:
        raise DractlError(f"{name}: is too large to be converted ({len(text):,} characters)", "Split the file.")
    try:
        return [node for node in _yaml(text).load_all(text) if node is not None]
    except MarkedYAMLError as error:
        mark = error.problem_mark
        place = f":{mark.line + 1}:{mark.column + 1}" if mark is not None else ""
        raise DractlError(f"{name}{place}: is not YAML: {error.problem}", "Correct the file and try again.") from None
    except (YAMLError, ValueError) as error:
        first = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise DractlError(f"{name}: is not YAML: {first}", "Correct the file and try again.") from None


def is_json(text: str) -> bool:
    """Whether the text is JSON, which YAML written anew would not be."""
    if text.lstrip()[:1] not in ("{", "["):
        return False
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def dump_json(values: list[Any], like: str) -> str:
    """The objects as one JSON value with the indentation of ``like``; several become a List."""
    value = values[0] if len(values) == 1 else {"apiVersion": "v1", "kind": "List", "items": values}
    indent = re.search(r"\n([ \t]+)", like)
    return json.dumps(value, indent=indent.group(1) if indent else None, ensure_ascii=False) + "\n"


def dump(nodes: list[Any], like: str) -> str:
    """The documents as text, in the manner of ``like``."""
    out = io.StringIO()
    yaml = _yaml(like)
    for number, node in enumerate(nodes):
        if number or like.lstrip().startswith("---"):
            if out.tell() and not out.getvalue().endswith("\n"):
                out.write("\n")
            out.write("---\n")
        yaml.dump(node, out)
    return out.getvalue()


def _yaml(text: str) -> Any:
    from ruamel.yaml import YAML

    yaml = YAML(typ="rt")
    yaml.preserve_quotes = True
    yaml.width = 4096
    yaml.allow_duplicate_keys = False
    if _indented(text):
        yaml.indent(mapping=2, sequence=4, offset=2)
    else:
        yaml.indent(mapping=2, sequence=2, offset=0)
    return yaml


def _indented(text: str) -> bool:
    """Whether lists are indented below their key, by the first list of a block style."""
    match = _SEQUENCE.search(text)
    return match is not None and len(match[2]) > len(match[1])
