"""Telemetry of a process: metrics, logs, request ids and traces."""
