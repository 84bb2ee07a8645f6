"""The command `hook`: answer an event of a client within milliseconds.

A client waits for it before every prompt and edit, so these modules import little: no Typer, no
pydantic, and nothing of the product before a question needs it.
"""
