"""Formats of names: what passes, what does not, and how often the server says so."""

from __future__ import annotations

import pytest

from dractl.kube import names


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("gpu", 0),
        ("g" * 63, 0),
        ("g" * 64, 1),
        ("a.b", 1),
        ("-a", 1),
        ("a-", 1),
        ("A", 1),
        ("", 1),
        ("a\n", 1),
        ("é", 1),
        ("é" * 32, 2),  # 64 bytes
    ],
)
def test_labels(text: str, count: int) -> None:
    assert len(names.dns_label_errors(text)) == count


@pytest.mark.parametrize(
    ("text", "count"),
    [("gpu.example.com", 0), ("a" * 253, 0), ("a" * 254, 1), ("a..b", 1), (".a", 1), ("A.b", 1), ("", 1), ("a_b", 1)],
)
def test_subdomains(text: str, count: int) -> None:
    assert len(names.dns_subdomain_errors(text)) == count


def test_capitals_are_good_in_driver_names() -> None:
    assert names.dns_subdomain_caseless_errors("Gpu.Example.COM") == ()
    assert len(names.dns_subdomain_caseless_errors("Gpu_x")) == 1


@pytest.mark.parametrize(
    ("text", "messages"),
    [
        ("example.com/key", []),
        ("Key_1.x", []),
        ("a/b/c", ["a valid label key must consist of"]),
        ("/a", ["prefix part must be non-empty"]),
        ("a/", ["name part must be non-empty", "name part must consist of"]),
        ("", ["name part must be non-empty", "name part must consist of"]),
        ("k" * 64, ["name part must be no more than 63 bytes"]),
        ("A.b/c", ["prefix part a lowercase RFC 1123 subdomain"]),
    ],
)
def test_label_keys(text: str, messages: list[str]) -> None:
    got = names.label_key_errors(text)
    assert len(got) == len(messages)
    assert all(one.startswith(start) for one, start in zip(got, messages, strict=True))


def test_releases_before_1_35_count_characters() -> None:
    assert names.label_key_errors("k" * 64, "characters") == ("name part must be no more than 63 characters",)
    assert names.label_key_errors("a/b/c", "characters")[0].startswith("a qualified name must consist of")


def test_the_whole_message() -> None:
    assert names.dns_label_errors("A") == (
        "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end "
        "with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is "
        "'[a-z0-9]([-a-z0-9]*[a-z0-9])?')",
    )


@pytest.mark.parametrize(
    ("name", "extended"),
    [
        ("nvidia.com/gpu", True),
        ("gpu", False),
        ("kubernetes.io/gpu", False),
        ("x.kubernetes.io/gpu", False),
        ("requests.nvidia.com/gpu", False),
        ("nvidia.com/" + "g" * 63, True),
        ("nvidia.com/" + "g" * 64, False),
        ("a/b/c", False),
    ],
)
def test_extended_resources(name: str, extended: bool) -> None:
    assert names.is_extended_resource(name) == extended


@pytest.mark.parametrize(("prefix", "checked"), [("c-", "a"), ("ab-", "aa"), ("abc", "abc"), ("-", "-")])
def test_generated_names_are_checked_without_their_dash(prefix: str, checked: str) -> None:
    assert names.mask_trailing_dash(prefix) == checked
