"""What the official conformance suite expects of a server under test, plugged into the shipped
program through bootstrap.
"""
