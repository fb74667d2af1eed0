"""Nothing is printed that the API server would refuse: every kind whose rules are known is put to them."""

from __future__ import annotations

from collections.abc import Iterable

from dractl.errors import DractlError
from dractl.generate.claim import ADMIN_LABEL
from dractl.generate.manifest import Manifest
from dractl.kube import names
from dractl.validation.apiserver import Request, admit
from dractl.validation.semantic import KINDS

OLDEST = (1, 34)
"""The first release that serves resource.k8s.io/v1."""


def check_release(release: tuple[int, int]) -> None:
    """DractlError for a release without the API that is written."""
    if release < OLDEST:
        raise DractlError(
            f"Kubernetes {release[0]}.{release[1]} does not serve resource.k8s.io/v1 (1.34 and later do)",
            "Generate for 1.34 and bring the result down with dractl convert.",
        )


def verify(manifests: Iterable[Manifest], release: tuple[int, int]) -> None:
    """Put manifests to the API server's rules; a field that needs a gate is remarked in the head.

    Raises:
        DractlError: with the server's reason for the first that would be refused.
    """
    for one in manifests:
        if one.kind not in KINDS:
            _check_name(one)
            continue
        verdict = admit(
            one.body, release=release, request=Request(namespace_labels={ADMIN_LABEL: "true"}, serve_gated=True)
        )
        if not verdict.accepted:
            cause = verdict.causes[0] if verdict.causes else None
            reason = f"{cause.field}: {cause.message}" if cause is not None else verdict.message
            reason = str(reason).partition("\n")[0]  # CEL's errors go on with an excerpt
            raise DractlError(f"the API server would refuse this {one.kind}: {reason}", "Change the option behind it.")
        for path, gate in verdict.dropped:
            where = ".".join(str(part) for part in path)
            one.head.append(
                f"{where} needs the feature gate {gate}, which is off by default: without it, it is dropped"
            )


def _check_name(one: Manifest) -> None:
    errors = names.dns_subdomain_errors(one.name)
    if one.kind in ("ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"):
        errors = names.path_segment_errors(one.name)
    if errors:
        raise DractlError(
            f"the API server would refuse this {one.kind}: metadata.name: {errors[0]}", "Change the name."
        )
