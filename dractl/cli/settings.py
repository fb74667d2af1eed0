"""Settings of a project: ``[tool.dractl]`` in pyproject.toml, or dractl.toml, in this folder or above it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dractl.errors import DractlError

PYPROJECT = "pyproject.toml"
OWN = "dractl.toml"
KNOWN: dict[str, tuple[type, ...]] = {
    "kubernetes": (str,),
    "gates": (dict, list),
    "runtime-config": (dict, list),
    "select": (list,),
    "ignore": (list,),
    "exclude": (list,),
    "fail-on": (str,),
    "baseline": (str,),
    "complete": (bool,),
    "snapshot": (str,),
    "jobs": (int,),
}
"""Keys of the ``validate`` table (or of ``[tool.dractl]`` itself) and what they hold."""


def find_settings(start: Path) -> Path | None:
    """The nearest file with settings, up to the root of the repository or file system."""
    for folder in [start, *start.parents]:
        own = folder / OWN
        if own.is_file():
            return own
        project = folder / PYPROJECT
        if project.is_file() and _table(project):
            return project
        if (folder / ".git").exists():
            return None
    return None


def read_settings(path: Path) -> dict[str, Any]:
    """The settings of ``dractl validate`` in a file; paths in it are relative to its folder.

    Raises:
        DractlError: for a file that is not TOML, an unknown key or a value of the wrong type.
    """
    table = _table(path)
    merged = {**{key: value for key, value in table.items() if key != "validate"}, **_inner(table, path)}
    for key, value in merged.items():
        if key not in KNOWN:
            raise DractlError(f"{path}: unknown setting {key}", f"There are {', '.join(sorted(KNOWN))}.")
        if not isinstance(value, KNOWN[key]) or (KNOWN[key] == (int,) and isinstance(value, bool)):
            wanted = " or ".join(kind.__name__ for kind in KNOWN[key])
            raise DractlError(
                f"{path}: {key} has to be a {wanted}, not {type(value).__name__}", "See docs/validate.md."
            )
    for key in ("baseline", "snapshot"):
        if key in merged:
            merged[key] = str(path.parent / merged[key])
    return merged


def _inner(table: dict[str, Any], path: Path) -> dict[str, Any]:
    inner = table.get("validate", {})
    if not isinstance(inner, dict):
        raise DractlError(f"{path}: validate has to be a table", "Write [tool.dractl.validate], or [validate].")
    return inner


def _table(path: Path) -> dict[str, Any]:
    import tomllib

    try:
        content = tomllib.loads(path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError) as err:
        raise DractlError(f"{path}: cannot be read: {err}", "Check the file.") from None
    except tomllib.TOMLDecodeError as err:
        raise DractlError(f"{path}: {err}", "Correct the TOML.") from None
    if path.name != PYPROJECT:
        return content
    found = content.get("tool", {}).get("dractl", {})
    return found if isinstance(found, dict) else {}


def switches(value: Any) -> list[str]:
    """A table of ``NAME = true`` or a list of ``NAME=true`` as the list that options take."""
    if isinstance(value, dict):
        return [f"{name}={str(item).lower()}" for name, item in value.items()]
    return [str(item) for item in value]
