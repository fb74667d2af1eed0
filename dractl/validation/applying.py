"""What ``kubectl apply`` makes of a manifest and the object that is there: the request that the server gets.

Fields that a manifest does not name stay as they are in the cluster: a pod keeps its node, a Job its selector. The
lists of a pod that are merged by a key keep the entries that something else has added. Fields that an earlier manifest
had and this one has no more are not taken away, as nobody remembers that one here.
"""

from __future__ import annotations

from typing import Any

Json = dict[str, Any]

_KEYS = {
    "containers": "name",
    "initContainers": "name",
    "volumes": "name",
    "volumeMounts": "mountPath",
    "env": "name",
    "resourceClaims": "name",
    "imagePullSecrets": "name",
}
"""Lists of core/v1 that are merged by a key (``patchMergeKey`` of the API)."""

_BY_DEFAULT = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
"""Tolerations that admission adds to every pod, on updates as well."""

_MERGED = frozenset({"Pod", "DaemonSet", "Deployment", "StatefulSet", "Job", "CronJob"})


def as_applied(new: Json, old: Json) -> Json:
    """The object that is sent for a manifest. Kinds whose lists are replaced as a whole are left as they are."""
    if new.get("kind") not in _MERGED or not isinstance(new.get("spec"), dict) or not isinstance(old.get("spec"), dict):
        return new
    return {**new, "spec": _merged(new["spec"], old["spec"])}


def _merged(new: Json, old: Json) -> Json:
    out = dict(new)
    for key, before in old.items():
        now = new.get(key)
        if key not in new:
            out[key] = before
        elif isinstance(now, dict) and isinstance(before, dict):
            out[key] = _merged(now, before)
        elif isinstance(now, list) and isinstance(before, list):
            if key in _KEYS:
                out[key] = _by_key(now, before, _KEYS[key], stay=key not in ("containers", "initContainers"))
            elif key == "tolerations":
                out[key] = [*now, *(one for one in before if _is_default(one) and one not in now)]
    return out


def _by_key(new: list[Any], old: list[Any], key: str, stay: bool) -> list[Any]:
    """Entries in the order of the manifest, each with what it has in the cluster besides.

    ``stay`` keeps entries that only the cluster has; a container that is gone from a manifest was most likely in the
    one before.
    """
    before = {str(one.get(key)): one for one in old if isinstance(one, dict)}
    out = []
    for one in new:
        found = before.pop(str(one.get(key)), None) if isinstance(one, dict) else None
        out.append(_merged(one, found) if found is not None else one)
    return [*out, *(before.values() if stay else ())]


def _is_default(toleration: Any) -> bool:
    return isinstance(toleration, dict) and toleration.get("key") in _BY_DEFAULT
