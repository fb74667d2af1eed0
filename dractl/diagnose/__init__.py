"""``dractl diagnose``: what is wrong in a cluster. One module a category; ``registry`` lists every check.

A check is a function of a ``Context`` that yields findings of its rule. To add one: a rule in ``dractl.rules``, the
function in its category's module, a line in ``registry.CHECKS``, and a fixture pair under ``tests/diagnose/``.
"""
