"""Names of devices and pools, and how they are written."""

from __future__ import annotations

from typing import NamedTuple


class PoolId(NamedTuple):
    """A pool: the same pool name under another driver is another pool."""

    driver: str
    pool: str

    def __str__(self) -> str:
        return f"{self.driver}/{self.pool}"


class DeviceId(NamedTuple):
    """A device, written ``driver/pool/device``."""

    driver: str
    pool: str
    device: str

    def __str__(self) -> str:
        return f"{self.driver}/{self.pool}/{self.device}"

    @property
    def pool_id(self) -> PoolId:
        """The pool that it is in."""
        return PoolId(self.driver, self.pool)

    @classmethod
    def parse(cls, text: str) -> DeviceId | None:
        """``driver/pool/device`` (a pool's name may hold further slashes), or None."""
        parts = text.split("/")
        if len(parts) < 3 or not all(parts):
            return None
        return cls(parts[0], "/".join(parts[1:-1]), parts[-1])


class Key(NamedTuple):
    """Namespace and name of an object; the namespace is empty for cluster-wide ones."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}" if self.namespace else self.name
