"""Findings, severities and the table of all rules.

How to add a rule: put a ``Rule`` into the file of its range (``manifests.py`` for DRA0xx, ``advice.py`` 1xx,
``allocation.py`` 2xx, ``lifecycle.py`` 3xx, ``publication.py`` 4xx, ``topology.py`` 5xx, ``hardware.py`` 6xx,
``access.py`` 7xx, ``scheduler.py`` 8xx, ``itself.py`` 9xx), listed in its ``RULES`` tuple, and raise it with
``RULE.finding(message, subject, location, ...)``. A code is never used again for something else. This package imports
nothing of dractl, so that every other package may use it.
"""
