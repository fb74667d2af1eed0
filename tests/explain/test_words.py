"""Numbers, lists, ages and names in plain English."""

from __future__ import annotations

import pytest

from dractl.explain import words


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0s"),
        (119, "119s"),
        (120, "2m"),
        (150, "2m30s"),
        (3600, "60m"),
        (10_800, "3h"),
        (12_060, "3h21m"),
        (86_400, "24h"),
        (172_800, "2d"),
        (200_000, "2d7h"),
        (3_456_000, "40d"),
        (86_400 * 731, "2y1d"),
    ],
)
def test_ages_are_written_as_kubectl_writes_them(seconds, text):
    assert words.duration(seconds) == text


def test_times():
    assert words.seconds_between("2026-12-01T06:00:00Z", words.moment("2026-12-01T07:00:01.5+01:00")) == 1
    assert words.seconds_between("2026-12-01T06:00:10Z", words.moment("2026-12-01T06:00:00Z")) == 0
    assert words.moment("yesterday") is None
    assert words.moment("2026-13-01T00:00:00Z") is None
    assert words.seconds_between(None, words.moment("2026-12-01T06:00:00Z")) is None


def test_lists_and_ranges():
    assert words.listing([]) == ""
    assert words.listing(["a"]) == "a"
    assert words.listing(["a", "b"]) == "a and b"
    assert words.listing("abcdefgh", 4) == "a, b, c and 5 more"
    assert words.ranges(["gpu-0", "gpu-1", "gpu-2", "gpu-4"]) == "gpu-0 to gpu-2 and gpu-4"
    assert words.ranges(["n1", "n2"]) == "n1 and n2"
    assert words.ranges(["pci-0000-20-00-0", "pci-0000-21-00-0"]) == "pci-0000-20-00-0 and pci-0000-21-00-0"


@pytest.mark.parametrize(
    ("name", "known", "found"),
    [
        ("gpu.nvidia.con", ["gpu.nvidia.com", "mig.nvidia.com"], ["gpu.nvidia.com"]),
        ("productname", ["productName", "type"], ["productName"]),
        ("gpu.amd.com", ["gpu.nvidia.com", "dra.net"], []),
        ("gpu.nvidia.com", ["compute-domain-default-channel.nvidia.com"], []),
        ("h100-9", ["h100-0", "l40s-0"], ["h100-0"]),
        ("same", ["same"], []),
        ("pcieroot", ["pciRoot", "pcieRoot"], ["pcieRoot", "pciRoot"]),
    ],
)
def test_near_names_are_slips_of_the_pen_only(name, known, found):
    assert words.near(name, known) == found


def test_what_ranges_leave_out_is_counted_by_names():
    names = ["a-0", "a-1", "a-2", "b-0", "b-2", "b-4", "c-0", "c-1", "c-2", "c-3"]
    assert words.ranges(names, 4) == "a-0 to a-2, b-0, b-2 and 5 more"
    assert words.ranges(names, 5) == "a-0 to a-2, b-0, b-2, b-4 and c-0 to c-3"


def test_numbers():
    assert words.count(0, "GPU") == "no GPU"
    assert words.count(1, "class", "classes") == "1 class"
    assert words.count(12_000, "device") == "12,000 devices"
    assert words.plural(2, "has") == "have"
    assert sorted(["gpu-10", "gpu-9", "a"], key=words.natural) == ["a", "gpu-9", "gpu-10"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("request gpu fits", "Request gpu fits."),
        ("h100-1 is cordoned", "h100-1 is cordoned."),
        ("ml/train is pending", "ml/train is pending."),
        ("Did it work?", "Did it work?"),
    ],
)
def test_sentences_keep_names_as_they_are(text, said):
    assert words.sentence(text) == said
