"""Which rights the commands need, and which the user has."""

from __future__ import annotations

import json

from tests.cluster.server import Fault


def rights(dractl, kubeconfig, *more):
    run = dractl("auth", "--kubeconfig", kubeconfig, "-o", "json", *more)
    report = json.loads(run.out)
    return run.code, {(row["verb"], row["resource"]): row["allowed"] for row in report["items"]}, report


def test_all_is_allowed(dractl, server, tmp_path):
    code, found, report = rights(dractl, str(server.kubeconfig(tmp_path / "kc")))
    assert code == 0 and set(found.values()) == {"yes"}
    assert report["kubernetes"] == "v1.36.2"


def test_only_some_is_allowed(dractl, server, tmp_path):
    """As for a user with a role in one namespace, who may list slices besides."""
    server.allowed = lambda verb, resource, namespace: namespace == "ml" or resource == "resourceslices"
    kubeconfig = str(server.kubeconfig(tmp_path / "kc", namespace="ml"))
    code, found, _ = rights(dractl, kubeconfig)
    assert code == 1
    assert found["list", "resourceslices"] == "yes"
    assert found["list", "pods"] == "namespace"
    assert found["list", "nodes"] == "no"
    text = dractl("auth", "--kubeconfig", kubeconfig).out
    assert "only in ml" in text and "holders are shown by claim only" in text
    _, other, _ = rights(dractl, kubeconfig, "-n", "infer")
    assert other["list", "pods"] == "no"


def test_the_reviews_are_all_that_is_created(dractl, server, tmp_path):
    rights(dractl, str(server.kubeconfig(tmp_path / "kc")))
    created = {path for method, path, *_ in server.requests if method != "GET"}
    assert created == {"/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"}


def test_what_is_not_served_is_no_missing_right(dractl, demo_objects, tmp_path):
    from tests.cluster.server import ApiServer

    with ApiServer([item for item in demo_objects if item["kind"] != "DeviceTaintRule"]) as server:
        code, found, _ = rights(dractl, str(server.kubeconfig(tmp_path / "kc")))
    assert code == 0 and found["list", "devicetaintrules"] == "not served"


def test_reviews_that_fail(dractl, server, tmp_path):
    server.faults = lambda path, params: Fault(500, "no") if path.endswith("reviews") else None
    code, found, _ = rights(dractl, str(server.kubeconfig(tmp_path / "kc")))
    assert code == 1 and set(found.values()) == {"unknown"}
