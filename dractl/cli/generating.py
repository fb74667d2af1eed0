"""What the commands of ``dractl generate`` share: the fleet, the flags that say what is wanted, trying and printing."""

from __future__ import annotations

import shlex
import sys
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from dractl.cli.output import emit, note
from dractl.cli.source import choose_release, open_inventory
from dractl.errors import DractlError, Exit

if TYPE_CHECKING:
    from dractl.allocator.profile import Profile
    from dractl.generate.catalog import Catalog
    from dractl.generate.claim import Asked
    from dractl.generate.fit import Fit
    from dractl.generate.manifest import Manifest
    from dractl.generate.wish import Wish
    from dractl.inventory import Inventory, Release


class Form(StrEnum):
    """Output formats."""

    YAML = "yaml"
    JSON = "json"


@dataclass(slots=True)
class Fleet:
    """The fleet to try things on, if one is named, and the release to write for."""

    catalog: Catalog
    release: Release
    profile: Profile
    inventory: Inventory | None = None

    @property
    def release_pair(self) -> tuple[int, int]:
        """Major and minor."""
        major, _, minor = self.release.minor.partition(".")
        return int(major), int(minor)


def open_fleet(
    snapshot: str | None,
    demo: bool,
    context: str | None,
    kubeconfig: str | None,
    kubernetes: str | None,
    require_fit: bool,
) -> Fleet:
    """Open the fleet that the options name, if any."""
    from dractl.allocator.profile import Profile
    from dractl.generate.catalog import Catalog
    from dractl.generate.verify import check_release
    from dractl.inventory import Inventory
    from dractl.kube.gates import parse_release

    named = demo or snapshot or context or kubeconfig
    if require_fit and not named:
        raise DractlError("--require-fit needs a fleet", "Name one with --snapshot, --context or --demo.")
    inventory = open_inventory(snapshot, demo, context, kubeconfig) if named else None
    release = choose_release(inventory or Inventory([]), kubernetes)
    try:
        check_release(parse_release(release.minor))
        profile = Profile.for_release(release.full)
    except ValueError as error:
        raise DractlError(str(error), "Choose the release to write for with --kubernetes 1.36.") from None
    catalog = Catalog(inventory, profile.environment()) if inventory is not None else Catalog()
    return Fleet(catalog, release, profile, inventory)


@dataclass(slots=True)
class Wanted:
    """The flags of claim, claimtemplate, pod and deviceclass as given."""

    name: str | None
    gpu: list[str] | None = None
    mig: list[str] | None = None
    nic: list[str] | None = None
    cpu: str | None = None
    device: list[str] | None = None
    count: int | None = None
    fallback: str | None = None
    same: list[str] | None = None
    numa: str | None = None
    align: str | None = None
    distinct: str | None = None
    share: str | None = None
    where: str | None = None
    tolerate: list[str] | None = None
    admin_access: bool = False
    interactive: bool = False

    def asked(self, catalog: Catalog, what: str) -> tuple[Asked, str]:
        """What is wanted, from the flags or by asking, and the name."""
        if self.interactive:
            return self._interview(catalog, what)
        from dractl.generate.claim import Asked
        from dractl.generate.wish import parse_fallback

        wishes = self._wishes()
        if not self.name:
            raise DractlError(f"the new {what} has no name", f"Give one: dractl generate {_COMMANDS[what]} NAME ...")
        if self.numa not in (None, "same"):
            raise DractlError(f"--numa {self.numa}: only 'same' is known", "Use --numa same, or --gpu 'numaNode=0'.")
        first = wishes[0].kind if wishes else "gpu"
        same = [*(self.same or ()), *(["numa"] if self.numa else ())]
        asked = Asked(
            tuple(wishes),
            tuple(parse_fallback(first, self.fallback)) if self.fallback is not None else (),
            self.count,
            tuple(dict.fromkeys(same)),
            self.align,
            self.distinct,
            self.share,
            self.where,
            tuple(self.tolerate or ()),
            self.admin_access,
        )
        return asked, self.name

    def _wishes(self) -> list[Wish]:
        from dractl.generate.wish import parse_wish

        flags = (
            ("gpu", self.gpu), ("mig", self.mig), ("device", self.device), ("nic", self.nic),
            ("cpu", [self.cpu] if self.cpu is not None else None),
        )  # fmt: skip
        return [parse_wish(kind, text) for kind, texts in flags for text in texts or ()]

    def _interview(self, catalog: Catalog, what: str) -> tuple[Asked, str]:
        from dractl.generate.interview import interview

        given = [one for one in (self.gpu, self.mig, self.nic, self.cpu, self.device) if one]
        if given:
            raise DractlError("--interactive asks for the devices itself", "Leave --gpu, --nic and the like out.")
        return interview(catalog, what, self.name, _ask)


_COMMANDS = {"claim": "claim", "template": "claimtemplate", "pod": "pod", "class": "deviceclass"}


def _ask(text: str) -> str | None:
    """Put a question on stderr and read a line; None at the end of the input."""
    sys.stderr.write(text)
    sys.stderr.flush()
    line = sys.stdin.readline()
    return line.strip() if line else None


def split_command(text: str | None) -> list[str]:
    """A command line as a list of words."""
    if text is None:
        return []
    try:
        return shlex.split(text)
    except ValueError as error:
        raise DractlError(f"--command {text!r}: {str(error).lower()}", "Close the quotation mark.") from None


def try_out(made: list[Manifest], fleet: Fleet, output: Form, require_fit: bool) -> int:
    """Verify, try on the fleet, print. Exit code 1 and no output for what can never work, if that is demanded."""
    from dractl.generate.verify import verify

    verify(made, fleet.release_pair)
    fit = _fit(made, fleet)
    if fit is None:
        return _emit(made, output, "")
    if require_fit and fit.never and fit.nodes:
        raise DractlError(
            f"no node of the fleet can ever serve this: {fit.reason}",
            "Ask for something else, or leave --require-fit out.",
            Exit.NOT_GOOD,
        )
    text = f"{fit.text[0].upper()}{fit.text[1:]}."
    reason = f" {fit.reason[0].upper()}{fit.reason[1:]}".rstrip(".") + "." if fit.reason else ""
    return _emit(made, output, text + reason)


def _fit(made: list[Manifest], fleet: Fleet) -> Fit | None:
    from dractl.generate.deviceclass import probe
    from dractl.generate.fit import try_manifests
    from dractl.generate.manifest import Manifest

    if fleet.inventory is None:
        return None
    tried = list(made)
    if len(made) == 1 and made[0].kind == "DeviceClass":
        tried.append(Manifest(probe(made[0].name)))
    return try_manifests(tried, fleet.inventory, fleet.release, fleet.profile)


def finish(made: list[Manifest], fleet: Fleet, output: Form, said: str = "") -> int:
    """Verify and print; ``said`` is what they would do in the fleet."""
    from dractl.generate.verify import verify

    verify(made, fleet.release_pair)
    return _emit(made, output, f"{said[0].upper()}{said[1:]}." if said else "")


def pairs_of(flag: str, texts: list[str]) -> dict[str, str]:
    """``KEY=VALUE`` of a repeatable option."""
    out = {}
    for text in texts:
        key, given, value = text.partition("=")
        if not given or not key or not value:
            raise DractlError(f"{flag} {text}: has to be KEY=VALUE", f"Write it as {flag} name=value.")
        out[key] = value
    return out


def number_of(key: str, text: str) -> int:
    """The number of a limit."""
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        raise DractlError(f"--class {key}={text}: {text} is no number of devices", f"Write it as --class {key}=8.")
    return int(text)


def _emit(made: list[Manifest], output: Form, said: str) -> int:
    """Print what has been verified; ``said`` is the outcome of trying it."""
    from dractl.render.manifest import to_json, to_yaml

    if said and (output is Form.JSON or not sys.stdout.isatty()):
        note(said)
    if output is Form.JSON:
        for one in made:
            for text in one.head[1:]:
                note(f"note: {text}")
        emit(to_json([one.body for one in made]))
        return Exit.GOOD
    heads = [[*one.head, *([said] if said and not number else [])] for number, one in enumerate(made)]
    emit("---\n".join(to_yaml(one.body, one.notes, head) for one, head in zip(made, heads, strict=True)))
    return Exit.GOOD
