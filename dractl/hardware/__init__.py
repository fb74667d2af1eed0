"""What hardware a host has, how it is wired, and what a driver should publish for it.

``readers`` (the only part that does I/O) fill a ``model.Host`` from a root that is a parameter; ``topology``,
``health``, ``publish`` and ``reconcile`` draw conclusions from it; ``report`` makes the plain data of a HostReport.
"""
