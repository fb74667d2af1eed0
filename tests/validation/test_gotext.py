"""Texts as Go prints and reads them."""

from __future__ import annotations

import pytest

from dractl.validation.gotext import TimeError, json_size, json_string, json_text, parse_time, quote


@pytest.mark.parametrize(
    ("text", "quoted"),
    [
        ("", '""'),
        ("a", '"a"'),
        ('a"b\\', '"a\\"b\\\\"'),
        ("\a\b\f\n\r\t\v", '"\\a\\b\\f\\n\\r\\t\\v"'),
        ("\x00\x7f", '"\\x00\\x7f"'),
        ("é", '"é"'),
        ("\u00a0", '"\\u00a0"'),
        ("\u200b", '"\\u200b"'),
        ("\U000e0001", '"\\U000e0001"'),
        ("<&>", '"<&>"'),
    ],
)
def test_quote(text: str, quoted: str) -> None:
    assert quote(text) == quoted


def test_json_escapes_what_html_reads() -> None:
    assert json_string("<a & b>\u2028") == '"\\u003ca \\u0026 b\\u003e\\u2028"'
    assert json_text({"b": [1, None, True], "a": "é"}) == '{"b":[1,null,true],"a":"é"}'
    assert json_size({"a": "é"}) == len('{"a":"é"}'.encode())


def test_json_of_deep_values_is_the_same() -> None:
    value: object = {"x": [1, "a"], "y": None}
    for _ in range(5000):
        value = [value, {"k": 1}]
    inner, outer = '{"x":[1,"a"],"y":null}', ""
    outer = "[" * 5000 + inner + ',{"k":1}]' * 5000
    assert json_text(value) == outer


@pytest.mark.parametrize(
    ("text", "utc"),
    [
        ("2026-01-02T03:04:05Z", "2026-01-02T03:04:05Z"),
        ("2026-01-02T03:04:05.999Z", "2026-01-02T03:04:05Z"),
        ("2026-01-02T03:04:05+02:00", "2026-01-02T01:04:05Z"),
        ("2026-01-01T00:30:00+01:00", "2025-12-31T23:30:00Z"),
        ("2024-02-29T00:00:00Z", "2024-02-29T00:00:00Z"),
    ],
)
def test_times(text: str, utc: str) -> None:
    assert parse_time(text) == utc


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("2026-02-30T00:00:00Z", 'parsing time "2026-02-30T00:00:00Z": day out of range'),
        ("2026-13-01T00:00:00Z", 'parsing time "2026-13-01T00:00:00Z": month out of range'),
        (
            "yesterday",
            'parsing time "yesterday" as "2006-01-02T15:04:05Z07:00": cannot parse "yesterday" as "2006"',
        ),
        (
            "2026-01-02",
            'parsing time "2026-01-02" as "2006-01-02T15:04:05Z07:00": cannot parse "" as "T"',
        ),
        (
            "2026-01-02T03:04:05Zx",
            'parsing time "2026-01-02T03:04:05Zx": extra text: "x"',
        ),
    ],
)
def test_bad_times(text: str, message: str) -> None:
    with pytest.raises(TimeError) as caught:
        parse_time(text)
    assert str(caught.value) == message
