"""What the API server accepts of a ResourceSlice and an expert would not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from dractl.kube.quantity import NANO, Quantity, QuantityError
from dractl.rules import advice as rules
from dractl.validation.model import Fault, Json, Path, at, entries, listing, mapping, text
from dractl.validation.settings import Settings

WHOLE_MILLI = (1, 37)
"""The first release that fits amounts into a range with thousandths."""


def slice_advice(value: Json, settings: Settings) -> Iterator[Fault]:
    """All advice on one slice."""
    spec = mapping(value.get("spec"))
    driver = text(spec.get("driver"))
    if driver != driver.lower():
        message = f"{driver} has upper case; drivers are compared letter by letter"
        yield Fault(rules.UPPER_CASE, message, ("spec", "driver"))
    for index, device in entries(spec.get("devices")):
        path: Path = ("spec", "devices", index)
        basic = device.get("basic")
        if isinstance(basic, dict):
            path, body = (*path, "basic"), mapping(basic)
        else:
            body = device
        yield from _device(text(device.get("name")), path, body, settings)


def _device(name: str, path: Path, body: Mapping[str, Any], settings: Settings) -> Iterator[Fault]:
    for group in ("attributes", "capacity"):
        for key in mapping(body.get(group)):
            if key.count("/") > 1:
                message = f"{key} has two slashes: CEL finds it under domain {key.split('/')[0]} only"
                yield Fault(rules.THREE_PARTS, message, (*path, group, key), key=True)
    terms = listing(at(body, "nodeSelector", "nodeSelectorTerms"))
    if len(terms) > 1:
        message = f"the nodeSelector of device {name} has {len(terms)} terms: the scheduler fails when it is allocated"
        yield Fault(rules.SEVERAL_TERMS, message, (*path, "nodeSelector", "nodeSelectorTerms"), key=True)
    conditions = [text(one) for one in listing(body.get("bindingConditions"))]
    if conditions:
        message = f"pods with device {name} wait until {', '.join(conditions)} is set in the claim's status"
        yield Fault(rules.BINDING_CONDITIONS, message, (*path, "bindingConditions"), key=True)
    for key, capacity in mapping(body.get("capacity")).items():
        yield from _policy(key, (*path, "capacity", key), mapping(capacity), settings)


def _policy(key: str, path: Path, capacity: Mapping[str, Any], settings: Settings) -> Iterator[Fault]:
    policy = mapping(capacity.get("requestPolicy"))
    step = at(policy, "validRange", "step")
    if step is not None and _nano(step) == 0:
        message = f"the range of {key} has step 0: the server divides by it"
        yield Fault(rules.ZERO_STEP, message, (*path, "requestPolicy", "validRange", "step"))
    limits = mapping(policy.get("validRange"))
    broken = [name for name, amount in limits.items() if (nano := _nano(amount)) is not None and nano % NANO]
    if broken and settings.release < WHOLE_MILLI:
        message = (
            f"the range of {key} has fractions ({broken[0]}: {limits[broken[0]]}): the scheduler of {settings.version} "
            "rounds them up to whole numbers"
        )
        yield Fault(rules.FRACTION_STEP, message, (*path, "requestPolicy", "validRange", broken[0]))
    default, amount = _nano(policy.get("default")), _nano(capacity.get("value"))
    alone = not policy.get("validRange") and not policy.get("validValues")
    if alone and default is not None and amount is not None and default > amount:
        message = f"the default of {key} ({policy.get('default')}) is more than there is ({capacity.get('value')})"
        yield Fault(rules.DEFAULT_TOO_LARGE, message, (*path, "requestPolicy", "default"))


def _nano(value: Any) -> int | None:
    try:
        return None if value is None else Quantity.parse(str(value)).nano
    except QuantityError:
        return None
