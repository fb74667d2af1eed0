"""Options that several commands share, so that they are spelled and explained once."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

_WHERE = "Where to read the cluster from"


class Format(StrEnum):
    """Output formats of most commands; a command with others has an enum of its own with these values among them."""

    TEXT = "text"
    WIDE = "wide"
    JSON = "json"
    YAML = "yaml"


Namespace = Annotated[
    str | None,
    typer.Option("--namespace", "-n", metavar="NS", help="Namespace to look in [that of the context, or 'default']."),
]
AllNamespaces = Annotated[bool, typer.Option("--all-namespaces", "-A", help="Look in all namespaces.")]
Output = Annotated[Format, typer.Option("--output", "-o", help="Output format.", show_default=False)]
Snapshot = Annotated[
    str | None,
    typer.Option(
        "--snapshot",
        metavar="FILE|DIR|-",
        help="Read a recorded cluster: a file (JSON, YAML, gzip), a directory of them, or - for stdin.",
    ),
]
Demo = Annotated[bool, typer.Option("--demo", help="Read the recorded fleet that comes with dractl.")]
Context = Annotated[str | None, typer.Option("--context", metavar="NAME", help="Context of the kubeconfig to use.")]
Kubeconfig = Annotated[str | None, typer.Option("--kubeconfig", metavar="FILE", help="Path of the kubeconfig.")]


def known_release(kubernetes: str | None) -> str | None:
    """The value of ``--kubernetes``, if dractl knows the rules of that release.

    Raises:
        DractlError: if it is none or another.
    """
    from dractl.errors import DractlError
    from dractl.kube.gates import NEWEST, OLDEST, parse_release

    if kubernetes is None:
        return None
    oldest, newest = (".".join(map(str, each)) for each in (OLDEST, NEWEST))
    try:
        release = parse_release(kubernetes)
    except ValueError:
        raise DractlError(f"--kubernetes {kubernetes}: is not a version", "Give it as 1.36 or 1.36.2.") from None
    if not OLDEST <= release <= NEWEST:
        raise DractlError(
            f"--kubernetes {kubernetes}: dractl knows Kubernetes {oldest} to {newest}",
            f"Give one of these releases, such as {newest}.",
        )
    return kubernetes


Kubernetes = Annotated[
    str | None,
    typer.Option(
        "--kubernetes",
        metavar="VERSION",
        help="Behave as this release (1.36); by default the cluster's own.",
        callback=known_release,
    ),
]
Watch = Annotated[
    bool, typer.Option("--watch", "-w", help="Follow a running cluster and show what changes, until Ctrl-C.")
]

DEFAULT_NAMESPACE = "default"
context_namespace: str | None = None
"""The namespace of the kubeconfig's context, once a command has opened a running cluster."""


def namespace_or_default(namespace: str | None) -> str:
    """The namespace of a command that looks at one object."""
    return namespace or context_namespace or DEFAULT_NAMESPACE
