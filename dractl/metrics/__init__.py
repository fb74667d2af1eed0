"""``dractl metrics``: the state of a cluster as numbers. ``families`` computes them, ``catalogue`` names every one."""
