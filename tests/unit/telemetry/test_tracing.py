"""Traces are sent to a real collector over gRPC, and only if one is configured."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import grpc  # type: ignore[import-untyped]
import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)

from quinion.errors import ExtraMissing
from quinion.telemetry.tracing import start_tracing

METHOD = "/opentelemetry.proto.collector.trace.v1.TraceService/Export"
CALL = """
import anyio, os, pathlib, sys
from mcp import Client
from quinion.engine import open_engine
from quinion.servers.registry import CATALOG
from quinion.settings import Settings
from quinion.telemetry.tracing import start_tracing

async def main():
    settings = Settings.from_environment()
    start_tracing(settings.otel_endpoint)
    async with open_engine(settings) as engine:
        async with Client(CATALOG["docvec"].load().build(engine)) as client:
            await client.call_tool("get_index_stats", {})

anyio.run(main)
print(*(name for name in sys.modules if name.startswith("opentelemetry.sdk.trace")))
"""


class Collector(grpc.GenericRpcHandler):  # type: ignore[misc]
    """Keeps the spans that it receives."""

    def __init__(self) -> None:
        self.spans: list[tuple[str, str]] = []

    def service(self, details: Any) -> Any:
        if details.method != METHOD:
            return None
        return grpc.unary_unary_rpc_method_handler(
            self._export,
            ExportTraceServiceRequest.FromString,
            ExportTraceServiceResponse.SerializeToString,
        )

    def _export(self, request: Any, _: Any) -> Any:
        for resource in request.resource_spans:
            named = {one.key: one.value.string_value for one in resource.resource.attributes}
            for scope in resource.scope_spans:
                self.spans += [(named["service.name"], span.name) for span in scope.spans]
        return ExportTraceServiceResponse()


def run_call(home: Path, **variables: str) -> str:
    """Call a tool in a new process; return the tracing modules that it has imported."""
    given = {"PATH": os.environ["PATH"], "QUINION_HOME": str(home), "QUINION_MIRROR": "off"}
    return subprocess.run(
        [sys.executable, "-c", CALL],
        env=given | variables,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    ).stdout.strip()


@pytest.mark.slow
def test_calls_are_spans_at_the_collector(tmp_path: Path) -> None:
    collector = Collector()
    server = grpc.server(ThreadPoolExecutor(2), handlers=[collector])
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    try:
        run_call(tmp_path, OTEL_EXPORTER_OTLP_ENDPOINT=f"http://127.0.0.1:{port}")
    finally:
        server.stop(0)
    assert ("quinion", "tools/call get_index_stats") in collector.spans


def test_without_a_collector_nothing_of_it_is_imported(tmp_path: Path) -> None:
    assert run_call(tmp_path) == ""


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry.exporter.otlp.proto.grpc.trace_exporter", None)
    with pytest.raises(ExtraMissing, match="pip install 'opentelemetry-exporter-otlp-proto-grpc"):
        start_tracing("http://127.0.0.1:1")
    start_tracing(None)
