"""Families of metrics in the text formats of Prometheus and OpenMetrics."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from dractl.metrics.families import Family


def to_text(families: Iterable[Family], openmetrics: bool = False) -> bytes:
    """The exposition text; ``openmetrics`` chooses OpenMetrics 1.0 over Prometheus' 0.0.4."""
    from prometheus_client import exposition
    from prometheus_client.openmetrics import exposition as open_exposition

    write: Any = open_exposition.generate_latest if openmetrics else exposition.generate_latest
    data: bytes = write(_Registry(families))
    return data


class _Registry:
    """What prometheus_client writes out: one collection of metrics."""

    def __init__(self, families: Iterable[Family]) -> None:
        self._families = list(families)

    def collect(self) -> Iterator[Any]:
        """The metrics in the client's own form."""
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

        for family in self._families:
            definition = family.definition
            kind = CounterMetricFamily if definition.kind == "counter" else GaugeMetricFamily
            metric = kind(definition.name, definition.help, labels=definition.labels)
            for labels, value in family.samples.items():
                metric.add_metric(list(labels), value)
            yield metric
