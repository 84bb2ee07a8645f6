"""Audit, traces, metrics, redaction."""
