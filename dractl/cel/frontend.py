"""Text to checked expression, with Kubernetes' verdict: ``compile``."""

from __future__ import annotations

from dractl.cel.checked import Checked
from dractl.cel.checker import check
from dractl.cel.environment import Environment, attribute_type
from dractl.cel.errors import CelError, Source
from dractl.cel.parser import parse
from dractl.cel.recursion import deep_recursion
from dractl.cel.types import ANY, BOOL, DYN, Type
from dractl.cel.validators import validate


def compile(source: str, env: Environment) -> Checked:
    """Parses and checks a device selector.

    Raises CelError, whose text is the one that Kubernetes gives. Constant folding, which may find further faults, is
    the evaluator's.
    """
    checked = check(parse(source, env), env)
    with deep_recursion():
        validate(checked)
    if not _may_select(checked.output_type, env):
        raise CelError(f"must evaluate to bool or the unknown type, not {checked.output_type}", Source(source))
    return checked


def _may_select(result: Type, env: Environment) -> bool:
    """Whether an expression of this type may select devices: a bool, or what attributes are."""
    if env.release >= (1, 37):
        return result.same(BOOL) or result.same(attribute_type(env))
    # up to 1.36 the very type is asked for: a wrapper of bool is not bool
    return result in (BOOL, ANY) or (env.list_attributes and env.release >= (1, 36) and result == DYN)
