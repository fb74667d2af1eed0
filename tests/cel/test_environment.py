"""Which functions, macros and fields a release has, and what a new expression may use of them."""

from __future__ import annotations

import pytest

from dractl.cel.environment import Environment, declarations
from dractl.cel.errors import CelError
from dractl.cel.frontend import compile

RELEASES = [(1, minor) for minor in range(31, 38)]


def compiles(text: str, env: Environment) -> bool:
    try:
        compile(text, env)
    except CelError:
        return False
    return True


def first_release(text: str, stored: bool) -> int | None:
    """The minor number of the first release that takes ``text``; every later one has to take it too."""
    taken = [compiles(text, Environment(release, stored=stored)) for release in RELEASES]
    assert taken == sorted(taken), text
    return RELEASES[taken.index(True)][1] if True in taken else None


# text, first release for stored expressions, first release for new ones
FEATURES = [
    ("quantity('1Gi').isGreaterThan(quantity('1Mi'))", 31, 31),
    ("isIP('10.0.0.1') && isCIDR('10.0.0.0/8')", 31, 31),
    ("sets.contains([1], [1])", 31, 31),
    ("optional.of(1).optMap(x, x + 1).hasValue()", 31, 31),
    ("'a,b'.split(',').join('-') == 'a-b'", 31, 31),
    ("cel.bind(x, 1, x == 1)", 31, 31),
    ("semver('1.2.3').major() == 1", 31, 31),
    ("format.dns1123Label().hasValue()", None, None),
    ("format.named('dns1123Label').hasValue()", 31, 32),
    ("[1, 2].all(i, v, v > i)", 32, 33),
    ("{1: 2}.transformMap(k, v, k + v) == {}", 32, 33),
    ("semver('v1.2', true).major() == 1", 33, 34),
    ("device.attributes['a'].`b-c` == 1", 37, 37),
    ("[1].first().hasValue()", 33, 33),
    ("lists.range(3) == [0, 1, 2]", 34, 35),
    ("[3, 1].sortBy(x, x) == [1, 3]", 34, 35),
    ("device.allowMultipleAllocations", 34, 34),
    ("device.attributes['a'].b.includes('x')", 36, None),
]


@pytest.mark.parametrize(("text", "stored", "new"), FEATURES)
def test_first_release(text: str, stored: int | None, new: int | None) -> None:
    assert first_release(text, True) == stored
    assert first_release(text, False) == new


def test_duration_of_a_number() -> None:
    assert not compiles("duration(device.attributes['a'].b == 1 ? 1 : 2) == duration('1s')", Environment((1, 37)))
    assert compiles("duration(device.attributes['a'].b == 1 ? 1 : 2) == duration('1s')", Environment((1, 36)))


def test_consumable_capacity() -> None:
    text = "device.allowMultipleAllocations"
    assert not compiles(text, Environment((1, 36), consumable_capacity=False, stored=False))
    # what is stored stays valid when the gate is switched off
    assert compiles(text, Environment((1, 36), consumable_capacity=False, stored=True))


def test_list_attributes() -> None:
    text = "device.attributes['a'].b.includes('x')"
    assert compiles(text, Environment((1, 37), list_attributes=True, stored=False))
    assert not compiles(text, Environment((1, 37), list_attributes=False, stored=False))
    types = [str(compile("device.attributes['a'].b", Environment((1, 36), list_attributes=on)).output_type)
             for on in (False, True)]  # fmt: skip
    assert types == ["google.protobuf.Any", "dyn"]


def test_unknown_releases_are_like_the_nearest() -> None:
    assert declarations(Environment((1, 29))).functions == declarations(Environment((1, 31))).functions
    assert Environment((1, 50)).release == (1, 37)


def test_derived_attribute() -> None:
    derived = Environment((1, 37), derived_attribute=True)
    assert str(compile("'x' + 'y'", derived).output_type) == "string"
    assert str(compile("['x']", derived).output_type) == "list(string)"
    with pytest.raises(CelError, match=r"^must evaluate to .* or a list of these scalars, not double$"):
        compile("1.5", derived)
    new = Environment((1, 37), derived_attribute=True, stored=False)
    with pytest.raises(CelError, match=r"^must evaluate to a primitive scalar \(.*\), not list\(string\)$"):
        compile("['x']", new)
