"""Two views of the same drivers agree: the names that a driver may publish (``kube.drivers``, for findings about names)
and what it publishes for a device of a host (``generate.drivers``, for predictions)."""

from __future__ import annotations

import pytest

from dractl.generate import drivers as published
from dractl.kube import drivers as vocabulary

BOTH = sorted(set(published.DRIVERS) & set(vocabulary.DRIVERS))


def test_every_driver_with_known_names_has_its_devices() -> None:
    assert set(vocabulary.DRIVERS) <= set(published.DRIVERS)
    assert len(BOTH) >= 13


@pytest.mark.parametrize("name", BOTH)
def test_predicted_attributes_are_among_the_known_names(name: str) -> None:
    words = vocabulary.DRIVERS[name]
    for form in published.DRIVERS[name].forms:
        for attribute in form.attributes:
            domain, _, last = attribute.name.rpartition("/")
            known = words.attributes.get((domain or name, last))
            if known is None:
                assert attribute.until, f"{form.type}: {attribute.name}"
                assert last in words.gone, f"{form.type}: {attribute.name}"
            else:
                assert known.kind == attribute.type, f"{form.type}: {attribute.name}"
                assert not known.types or form.type in known.types, f"{form.type}: {attribute.name}"


@pytest.mark.parametrize("name", BOTH)
def test_predicted_capacities_are_among_the_known_names(name: str) -> None:
    words = vocabulary.DRIVERS[name]
    for form in published.DRIVERS[name].forms:
        for capacity in form.capacity:
            assert capacity.name in words.capacities, f"{form.type}: {capacity.name}"
            types = words.capacities[capacity.name]
            assert not types or form.type in types, f"{form.type}: {capacity.name}"


@pytest.mark.parametrize("name", BOTH)
def test_classes_that_a_chart_installs_are_known(name: str) -> None:
    assert {one.name for one in published.DRIVERS[name].classes} <= set(vocabulary.DRIVERS[name].classes)
