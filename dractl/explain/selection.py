"""More about selectors that no device passes: amounts missed by a little, values written another way."""

from __future__ import annotations

from dractl.explain.answer import Answer
from dractl.explain.nearest import Misses, TermTally, amount_text, device_names, distance, number, readable
from dractl.explain.statements import correction, extreme
from dractl.explain.words import natural, plural
from dractl.kube.quantity import Notation, Quantity
from dractl.rules import allocation as rules
from dractl.rules.finding import ObjectRef

_CLOSE = 0.1
"""An amount counts as missed by a little if a tenth of it is lacking at most."""


def explain_misses(answer: Answer, misses: Misses, subject: ObjectRef) -> None:
    """Say what the closest devices lack and how the selector could be written."""
    if not misses.total:
        return
    for miss in misses.groups[:1]:
        if len(miss.faults) != 1:
            continue
        fault = miss.faults[0]
        if fault.term.operator in (">=", ">") and 0 < distance(fault) <= _CLOSE:
            _just_missed(answer, misses, fault.term.wanted[0], subject)
    for tally in misses.culprits():
        fixed = correction(tally)
        if fixed:
            answer.advise(fixed)
        elif tally.term.operator == "==" and tally.term.typed == "quantity" and (best := _largest(tally)):
            answer.advise(
                f"== compares amounts to the byte; ask for at least so much: "
                f"compareTo(quantity('{rounded_down(best)}')) >= 0"
            )
        elif tally.term.operator in (">=", ">") and tally.term.typed == "quantity":
            best = extreme(tally)
            if best and not _is_close(tally, best):
                answer.advise(
                    f"ask for at most {readable(best)} of {tally.term.field} (the most that is published), or add "
                    "devices that have more"
                )


def _largest(tally: TermTally) -> str | None:
    amounts = [(amount, value) for value in tally.values if value is not None and (amount := number(value)) is not None]
    return max(amounts)[1] if amounts else None


def _is_close(tally: TermTally, best: str) -> bool:
    wanted, has = number(tally.term.wanted[0]), number(best)
    return wanted is not None and has is not None and wanted > 0 and (wanted - has) / wanted <= _CLOSE


def _just_missed(answer: Answer, misses: Misses, wanted: str, subject: ObjectRef) -> None:
    miss = misses.groups[0]
    fault = miss.faults[0]
    assert fault.has is not None
    devices = sorted(miss.devices, key=lambda one: natural(str(one)))
    free = ", free," if miss.free == len(devices) else ""
    has = amount_text(fault.term, fault.has)
    text = (
        f"{device_names(devices)}{free} {plural(len(devices), 'matches', 'match')} in everything but "
        f"{fault.term.field}: {plural(len(devices), 'it publishes', 'they publish')} {has}, asked for "
        f"is {fault.term.asked}"
    )
    answer.say(text)
    answer.find(rules.JUST_MISSED.finding(text, subject))
    lower = rounded_down(fault.has)
    why = "amounts as published lie below the nominal size"
    if fault.has[-1:] in ("M", "G", "T") and wanted.endswith("i"):
        unit = fault.has[-1]
        why = f"{unit} counts in powers of 1000 and {unit}i in powers of 1024"
    answer.advise(f"ask for less, for example {lower} instead of {wanted}: {why}")


def rounded_down(amount: str) -> str:
    """The next round amount below: ``79Gi`` for ``81559Mi``."""
    quantity = Quantity.parse(amount)
    if quantity.notation is not Notation.BINARY_SI:
        return amount
    for power, suffix in ((40, "Ti"), (30, "Gi"), (20, "Mi"), (10, "Ki")):
        whole = quantity.value() >> power
        if whole >= 10 or (whole and suffix == "Gi"):
            return f"{whole}{suffix}"
    return amount
