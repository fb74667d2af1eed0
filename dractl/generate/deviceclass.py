"""DeviceClasses: a name for devices of one kind."""

from __future__ import annotations

from dractl.convert.parameters import cel_text
from dractl.errors import DractlError
from dractl.explain.words import sentence
from dractl.generate.catalog import Catalog
from dractl.generate.claim import API, choose
from dractl.generate.manifest import Json, Manifest, Said, manifest, metadata
from dractl.generate.wish import Wish


def device_class(name: str, wish: Wish, catalog: Catalog, resource: str | None, where: str | None) -> Manifest:
    """A class for the devices that a wish describes.

    Raises:
        DractlError: for a wish with a count, and for words that mean nothing.
    """
    if wish.count is not None or wish.kind == "cpu":
        raise DractlError(f"{wish.flag}: a class has no count", "Counts stand in claims: dractl generate claim.")
    choice = choose(wish, catalog)
    source = choice.source
    selectors: list[Json] = [
        _selector(f"device.driver == {cel_text(source.driver)}", "others publish other attributes")
    ]
    chart_type = (source.driver, "type")
    terms = choice.terms
    if source.type and chart_type in source.attributes and not source.needs_type:
        typed = f"device.attributes[{cel_text(source.driver)}].type == {cel_text(source.type)}"
        terms.expressions.insert(0, typed)
        terms.reasons.insert(0, f"type {source.type} only")
    if terms.cel:
        selectors.append(_selector(terms.cel, "; ".join(terms.reasons)))
    if where:
        selectors.append(_selector(where, "as given by --where"))
    tree = {
        "apiVersion": API,
        "kind": "DeviceClass",
        "metadata": metadata(name),
        "spec": {
            "selectors": Said(selectors, "all of them have to hold"),
            "extendedResourceName": Said(resource, "pods may also ask for these devices as this resource")
            if resource
            else None,
        },
    }
    words = " ".join(str(word) for word in wish.words) or "all"
    return manifest(tree, [f"A class of {source.title} devices: {words}.", *map(sentence, terms.remarks)])


def probe(name: str) -> Json:
    """A claim for one device of a class, to try the class with."""
    request = {"name": "one", "exactly": {"deviceClassName": name, "allocationMode": "ExactCount", "count": 1}}
    return {
        "apiVersion": API,
        "kind": "ResourceClaim",
        "metadata": {"name": "probe", "namespace": "default"},
        "spec": {"devices": {"requests": [request]}},
    }


def _selector(expression: str, reason: str) -> Json:
    return {"cel": {"expression": Said(expression, reason)}}
