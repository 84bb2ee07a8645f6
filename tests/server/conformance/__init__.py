"""Fixtures of the official conformance suites, plugged into the shipped program."""
