"""CEL cases made from the public specification's tests: one device, one environment for all."""

from __future__ import annotations

from pathlib import Path

from figures import Figure, read_json
from kind_cel import Checker, device_of, environment_of


def run(cases_path: Path, show: int, only: str | None, profile: str) -> list[Figure]:
    """The four figures of a file of cases."""
    data = read_json(cases_path)
    device = device_of(data["device"])
    environment = environment_of(data["environment"])
    checker = Checker(show)
    for index, case in enumerate(data["cases"]):
        if only is not None and only not in (str(index), case["id"]):
            continue
        recorded = {"expression": case["expr"]}
        if "compileError" in case:
            recorded["compileError"] = case["compileError"]
        else:
            result = {"device": device.name, "cost": case["cost"]}
            result |= {"error": case["error"]} if "error" in case else {"match": case["match"]}
            recorded |= {"outputType": case["type"], "maxCost": case["maxCost"], "results": [result]}
        checker.check(case["id"], recorded, environment, data["driver"], {device.name: device})
    return checker.figures()
