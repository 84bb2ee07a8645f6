"""Delivery of rules and context to clients that did not ask: hooks."""
