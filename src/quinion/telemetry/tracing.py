"""Traces for OpenTelemetry, if a collector is configured.

The MCP SDK makes a span of each request, and continues the trace of a client that sends its
context. Without a provider these spans cost nothing and go nowhere. The packages of the extra
`tracing` are imported here only.
"""

from quinion.errors import ExtraMissing


def start_tracing(endpoint: str | None) -> None:
    """Send spans to the OTLP collector at this address (gRPC); without one, do nothing.

    OpenTelemetry reads its other variables itself, such as OTEL_SERVICE_NAME.

    Raises:
        ExtraMissing: the packages are not installed.
    """
    if endpoint is None:
        return
    try:
        from opentelemetry import trace  # noqa: PLC0415
        from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import (  # noqa: PLC0415
            OTLPSpanExporter,
        )
        from opentelemetry.sdk.resources import SERVICE_NAME, Resource  # noqa: PLC0415
        from opentelemetry.sdk.trace import TracerProvider  # noqa: PLC0415
        from opentelemetry.sdk.trace.export import BatchSpanProcessor  # noqa: PLC0415
    except ImportError as error:
        raise ExtraMissing(
            f"OTEL_EXPORTER_OTLP_ENDPOINT is set, but traces cannot be sent: {error}. "
            "Run: pip install 'opentelemetry-exporter-otlp-proto-grpc>=1.30', or unset it."
        ) from error
    named = Resource.create()
    if str(named.attributes.get(SERVICE_NAME, "")).startswith("unknown_service"):
        named = named.merge(Resource({SERVICE_NAME: "quinion"}))
    provider = TracerProvider(resource=named)
    exporter = OTLPSpanExporter(endpoint=endpoint, insecure=endpoint.startswith("http://"))
    provider.add_span_processor(BatchSpanProcessor(exporter))
    trace.set_tracer_provider(provider)
