"""``--fix`` on objects in many layouts: the right object comes out, no comment is lost, nothing fixable is left."""

from __future__ import annotations

import copy
import random
from typing import Any

import pytest

from dractl.cli.checking import Choice
from dractl.cli.fixing import _fixable, fix_text
from dractl.sources.manifests import Document, read_text
from dractl.validation.settings import Settings
from tests.cli.layouts import Raw, Writer

FLAT = {"name": "gpu", "deviceClassName": "gpu.example.com", "count": 2}
DETAILS = {
    "selectors": [{"cel": {"expression": 'device.driver == "d.x"'}}],
    "tolerations": [{"key": "a.b/c", "operator": "Exists"}],
}
DEVICE = {"name": "a", "attributes": {"model": {"string": "two words"}}, "capacity": {"memory": {"value": "80Gi"}}}


def claim(requests: list[Any], version: str = "v1", **more: Any) -> dict[str, Any]:
    head = {"apiVersion": f"resource.k8s.io/{version}", "kind": "ResourceClaim", "metadata": {"name": "x"}}
    return {**head, "spec": {"devices": {"requests": requests, **more}}}


def piece(version: str, devices: list[Any]) -> dict[str, Any]:
    spec = {"driver": "d.x", "nodeName": "n1", "pool": {"name": "n1", "resourceSliceCount": 1}, "devices": devices}
    head = {"apiVersion": f"resource.k8s.io/{version}", "kind": "ResourceSlice", "metadata": {"name": "s"}}
    return {**head, "spec": spec}


EXACT = {"name": "gpu", "exactly": {"deviceClassName": "gpu.example.com", "count": 2}}
BROKEN: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "flat requests in v1": (claim([FLAT]), claim([EXACT])),
    "flat requests with more": (
        claim([{**FLAT, **DETAILS}, {**FLAT, "name": "b"}], constraints=[{"matchAttribute": "a.b/c"}]),
        claim(
            [{"name": "gpu", "exactly": {**EXACT["exactly"], **DETAILS}}, {**EXACT, "name": "b"}],
            constraints=[{"matchAttribute": "a.b/c"}],
        ),
    ),
    "name in the middle": (
        claim([{"deviceClassName": "gpu.example.com", "name": "gpu", "count": 2}]),
        claim([EXACT]),
    ),
    "v1beta1": (claim([FLAT], "v1beta1"), claim([EXACT])),
    "v1beta2": (claim([EXACT], "v1beta2"), claim([EXACT])),
    "a beta slice": (
        piece("v1beta1", [{"name": "a", "basic": {k: v for k, v in DEVICE.items() if k != "name"}}]),
        piece("v1", [DEVICE]),
    ),
    "bare values": (
        piece("v1", [{"name": "a", "attributes": {"model": "two words"}, "capacity": {"memory": "80Gi"}}]),
        piece("v1", [DEVICE]),
    ),
    "a quantity with a blank": (
        piece("v1", [{**DEVICE, "capacity": {"memory": {"value": "80 GiB"}}}]),
        piece("v1", [DEVICE]),
    ),
    "letters": (
        claim([{"name": "gpu", "exactly": {"deviceclassname": "gpu.example.com", "cuont": 2}}]),
        claim([EXACT]),
    ),
    "not quoted": (
        claim([{"name": Raw("y"), "exactly": {"deviceClassName": Raw("010")}}]),
        claim([{"name": "y", "exactly": {"deviceClassName": "010"}}]),
    ),
    "a level left out": (
        {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceClaimTemplate",
            "metadata": {"name": "x"},
            "spec": {"devices": {"requests": [EXACT]}},
        },
        {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceClaimTemplate",
            "metadata": {"name": "x"},
            "spec": {"spec": {"devices": {"requests": [EXACT]}}},
        },
    ),
    "a pod of 1.30": (
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "p"},
            "spec": {
                "containers": [{"name": "c", "image": "i", "resources": {"claims": [{"name": "g"}]}}],
                "resourceClaims": [{"name": "g", "source": {"resourceClaimTemplateName": "t"}}],
            },
        },
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "p"},
            "spec": {
                "containers": [{"name": "c", "image": "i", "resources": {"claims": [{"name": "g"}]}}],
                "resourceClaims": [{"name": "g", "resourceClaimTemplateName": "t"}],
            },
        },
    ),
    "nothing to fix": (claim([EXACT]), claim([EXACT])),
}
CHOICE = Choice(Settings())


def layout(rng: random.Random) -> tuple[str, list[str], list[Any]]:
    """A file, its comments, and the objects that it should hold after the fixes."""
    writer = Writer(rng)
    names = rng.choices(list(BROKEN), k=rng.choice((1, 1, 2, 3)))
    texts = [writer.document(copy.deepcopy(BROKEN[name][0])) for name in names]
    start = rng.choice(("", "---\n", "%YAML 1.1\n---\n" if rng.random() < 0.2 else "---\n"))
    text = start + f"---{rng.choice(('', ' ', '  '))}\n".join(texts)
    return text, writer.comments, [BROKEN[name][1] for name in names]


@pytest.mark.parametrize("seed", range(60))
def test_fixed_files_say_the_right_thing_and_keep_their_comments(seed: int) -> None:
    rng = random.Random(seed)
    text, comments, wanted = layout(rng)
    end, mark = rng.choice((("\n", ""), ("\n", ""), ("\r\n", ""), ("\n", "\ufeff"), ("\r\n", "\ufeff")))
    before = mark + text.replace("\n", end)
    after = fix_text(before, "x.yaml", CHOICE).after
    documents = [one for one in read_text(after.removeprefix("\ufeff"), "x.yaml") if isinstance(one, Document)]
    assert [one.value for one in documents] == wanted, after
    for comment in comments:
        assert after.count(comment + " ") + after.count(comment + end) >= 1, f"{comment} is lost:\n{after}"
    assert after.count("# c") == len(comments)
    assert not [fault for one in documents for fault in _fixable(one, CHOICE)]
    assert after.startswith(mark)
    assert ("\r" in after) == (end == "\r\n")
    assert after.count("\r") in (0, after.count("\n"))
    # what is right already is not touched
    assert fix_text(after, "x.yaml", CHOICE).after == after
