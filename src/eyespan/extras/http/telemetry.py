"""OpenTelemetry: metrics and traces of calls, sent by OTLP over HTTP (`--otel`, the extra [otel]).

The endpoint and the headers come from the standard variables (`OTEL_EXPORTER_OTLP_ENDPOINT`,
`OTEL_EXPORTER_OTLP_HEADERS`, `OTEL_SERVICE_NAME`, `OTEL_RESOURCE_ATTRIBUTES`). A span names the method, the tool, the
caller and the verdict; it never holds a path or contents. It continues the trace of the request: the header
`traceparent`, or that key in `_meta`.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from typing import Any

from eyespan.server.serve_options import InvalidOptions

DEFAULT_ENDPOINT = "http://localhost:4318"
FLUSH_MS = 2000
"""The time to send what is left at the end."""


def endpoints(environment: Mapping[str, str]) -> list[str]:
    """Return the addresses that the exporters connect to; the sandbox allows their ports."""
    names = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT")
    return [environment[name] for name in names if environment.get(name)] or [DEFAULT_ENDPOINT]


def require() -> None:
    """Import the packages, before the sandbox is entered. Raises: InvalidOptions if one is missing."""
    try:
        import opentelemetry.exporter.otlp.proto.http.metric_exporter
        import opentelemetry.exporter.otlp.proto.http.trace_exporter
        import opentelemetry.sdk.metrics.export
        import opentelemetry.sdk.trace.export  # noqa: F401  (all of them are used by Telemetry)
    except ImportError as error:
        message = f"--otel needs a package that is not installed ({error.name}): pip install 'eyespan[otel]'"
        raise InvalidOptions(message) from None


class Telemetry:
    """The exporters of one worker. They have threads, so a worker makes them after it was forked."""

    def __init__(self) -> None:
        from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.metrics import MeterProvider
        from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor

        import eyespan

        facts: dict[str, Any] = {"service.version": eyespan.__version__, "process.pid": os.getpid()}
        if not os.environ.get("OTEL_SERVICE_NAME"):
            facts["service.name"] = "eyespan"
        resource = Resource.create(facts)
        self._traces = TracerProvider(resource=resource)
        self._traces.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
        self._metrics = MeterProvider(
            resource=resource, metric_readers=[PeriodicExportingMetricReader(OTLPMetricExporter())]
        )
        self._tracer = self._traces.get_tracer("eyespan")
        meter = self._metrics.get_meter("eyespan")
        self._calls = meter.create_counter("eyespan.calls", description="Calls that read, by verdict.")
        self._seconds = meter.create_histogram("eyespan.call.duration", unit="s", description="Duration of calls.")
        self._bytes = meter.create_counter("eyespan.answer.size", unit="By", description="Bytes of contents sent.")
        self._refused = meter.create_counter("eyespan.refused", description="Requests refused, by reason.")

    def record_call(
        self, method: str, params: Mapping[str, Any], caller: str, *, verdict: str, seconds: float, size_bytes: int
    ) -> None:
        """Record a call that has just ended."""
        from opentelemetry.trace import SpanKind, Status, StatusCode

        attributes: dict[str, Any] = {"rpc.system": "mcp", "mcp.method.name": method, "eyespan.verdict": verdict}
        self._calls.add(1, attributes)
        self._seconds.record(seconds, attributes)
        self._bytes.add(size_bytes, attributes)
        tool = params.get("name")
        name = f"{method} {tool}" if isinstance(tool, str) and len(tool) <= 100 else method
        end_ns = time.time_ns()
        span = self._tracer.start_span(
            name,
            context=_parent(params),
            kind=SpanKind.SERVER,
            attributes={**attributes, "enduser.id": caller, "eyespan.answer.size": size_bytes},
            start_time=end_ns - int(seconds * 1e9),
        )
        if verdict == "error":
            span.set_status(Status(StatusCode.ERROR))
        span.end(end_ns)

    def record_refused(self, reason: str, status: int) -> None:
        """Record a request that was refused before anything was read."""
        self._refused.add(1, {"eyespan.reason": reason, "http.response.status_code": status})

    def close(self) -> None:
        """Send what is left."""
        self._traces.force_flush(FLUSH_MS)
        self._metrics.force_flush(FLUSH_MS)
        self._traces.shutdown()
        self._metrics.shutdown(FLUSH_MS)


def _parent(params: Mapping[str, Any]) -> Any:
    """Return the context of the caller's trace, or None."""
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

    meta = params.get("_meta")
    given = meta.get("traceparent") if isinstance(meta, dict) else None
    if not isinstance(given, str):
        return None
    return TraceContextTextMapPropagator().extract({"traceparent": given})
