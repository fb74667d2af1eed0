"""Text to checked expression, with Kubernetes' verdict: ``compile``."""

from __future__ import annotations

from dractl.cel.checked import Checked
from dractl.cel.checker import check
from dractl.cel.environment import Environment, attribute_type
from dractl.cel.errors import CelError, Source
from dractl.cel.parser import parse
from dractl.cel.recursion import deep_recursion
from dractl.cel.types import ANY, BOOL, DYN, INT, SEMVER, STRING, Kind, Type
from dractl.cel.validators import validate


def compile(source: str, env: Environment) -> Checked:
    """Parses and checks a device selector, or the expression of a derived attribute if ``env`` says so.

    Raises CelError, whose text is the one that Kubernetes gives. Constant folding, which may find further faults, is
    the evaluator's.
    """
    checked = check(parse(source, env), env)
    with deep_recursion():
        validate(checked)
    output = checked.output_type
    if env.derived_attribute:
        lists = env.list_attributes or env.stored
        if not _may_be_attribute(output, lists):
            wanted = "a primitive scalar (string, integer, boolean, semver)"
            wanted += " or a list of these scalars" if lists else ""
            raise CelError(f"must evaluate to {wanted}, not {output}", Source(source))
    elif not _may_select(output, env):
        raise CelError(f"must evaluate to bool or the unknown type, not {output}", Source(source))
    return checked


def _may_be_attribute(result: Type, lists: bool) -> bool:
    """Whether an expression of this type may compute an attribute: a scalar, or a list of scalars."""
    if lists and result.kind is Kind.LIST and len(result.params) == 1:
        result = result.params[0]
    return any(result.same(scalar) for scalar in (BOOL, INT, STRING, ANY, DYN, SEMVER))


def _may_select(result: Type, env: Environment) -> bool:
    """Whether an expression of this type may select devices: a bool, or what attributes are."""
    if env.release >= (1, 37):
        return result.same(BOOL) or result.same(attribute_type(env))
    # up to 1.36 the very type is asked for: a wrapper of bool is not bool
    return result in (BOOL, ANY) or (env.list_attributes and env.release >= (1, 36) and result == DYN)
