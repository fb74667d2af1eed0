"""Names of objects for the shell: of the recording or the running cluster that the command line names.

A shell waits for every key, so a cluster gets two seconds in all and its answer is kept for ten; whatever goes wrong
means no candidates, in silence.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterable, Sequence
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dractl.sources.connection import Access

LIMIT = 2.0
"""Seconds for everything that is asked of a cluster."""
KEPT = 10.0
"""Seconds for which an answer is used again."""
_PLURALS = {
    "claim": ("resource.k8s.io/v1", "resourceclaims", True),
    "pod": ("v1", "pods", True),
    "class": ("resource.k8s.io/v1", "deviceclasses", False),
    "node": ("v1", "nodes", False),
    "namespace": ("v1", "namespaces", False),
    "device": ("resource.k8s.io/v1", "resourceslices", False),
    "driver": ("resource.k8s.io/v1", "resourceslices", False),
}
_KINDS = {
    "claim": "ResourceClaim", "pod": "Pod", "class": "DeviceClass", "node": "Node", "namespace": "Namespace",
    "device": "ResourceSlice", "driver": "ResourceSlice",
}  # fmt: skip


def names(words: Sequence[str], current: str, what: str | None = None) -> Iterable[tuple[str, str]]:
    """Candidates for the name that ``dractl explain WHAT`` takes, or for the option ``what``; each with no help."""
    what = what or next((word for word in words if word in _PLURALS), None)
    if what is None:
        return []
    try:
        found = _recorded(words, what) if _flag(words, "--demo") or _value(words, "--snapshot") else _live(words, what)
    except Exception:
        # nothing may be printed between the keys of a shell
        return []
    return [(name, "") for name in found if name.startswith(current)]


def _value(words: Sequence[str], *options: str) -> str | None:
    for index, word in enumerate(words):
        name, given, value = word.partition("=")
        if name in options:
            return value if given else next(iter(words[index + 1 : index + 2]), None)
    return None


def _flag(words: Sequence[str], option: str) -> bool:
    return option in words


def _recorded(words: Sequence[str], what: str) -> list[str]:
    from dractl.sources.snapshot import STDIN, read_raw

    snapshot = _value(words, "--snapshot")
    if snapshot == STDIN:
        return []
    items = [item for item in read_raw(snapshot).items if item.get("kind") == _KINDS[what]]
    namespace = _value(words, "--namespace", "-n")
    if _PLURALS[what][2]:
        items = [item for item in items if item["metadata"].get("namespace") == (namespace or "default")]
    return sorted({name for item in items for name in _named(item, what)})


def _named(item: Any, what: str) -> list[str]:
    """What an object gives to choose from: its name, or the driver or devices of a slice."""
    if what == "driver":
        return [item["spec"]["driver"]]
    if what == "device":
        spec = item["spec"]
        return [f"{spec['driver']}/{spec['pool']['name']}/{one['name']}" for one in spec.get("devices") or []]
    return [item["metadata"]["name"]]


def _live(words: Sequence[str], what: str) -> list[str]:
    from dractl.cli.source import access_of

    context, kubeconfig = _value(words, "--context"), _value(words, "--kubeconfig")
    namespace = _value(words, "--namespace", "-n")
    access = replace(access_of(context, kubeconfig), request_timeout=LIMIT)
    sign = [what, context, kubeconfig, namespace, os.environ.get("KUBECONFIG"), access.as_user, access.as_groups]
    file = _folder() / sha256(json.dumps(sign).encode()).hexdigest()[:24]
    kept = _kept(file)
    if kept is not None:
        return kept
    found = _ask(what, access, namespace)
    _keep(file, found)
    return found


def _ask(what: str, access: Access, namespace: str | None) -> list[str]:
    from dractl.sources.connection import connect

    end = time.monotonic() + LIMIT
    connection = connect(access)
    version, plural, namespaced = _PLURALS[what]
    base = f"/apis/{version}" if "/" in version else f"/api/{version}"
    where = f"namespaces/{namespace or connection.namespace}/" if namespaced else ""
    body: Any = connection.get_once(f"{base}/{where}{plural}", {"limit": 500}, max(0.1, end - time.monotonic()))
    return sorted({name for item in body.get("items") or [] for name in _named(item, what)})


def _folder() -> Path:
    root = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(root) / "dractl" / "names"


def _kept(file: Path) -> list[str] | None:
    try:
        if time.time() - file.stat().st_mtime > KEPT:
            return None
        found = json.loads(file.read_text("utf-8"))
    except (OSError, ValueError):
        return None
    return [str(name) for name in found] if isinstance(found, list) else None


def _keep(file: Path, found: list[str]) -> None:
    try:
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        file.write_text(json.dumps(found), "utf-8")
    except OSError:
        return
