"""The small process between a client's stdin and the local server (`serve --attach`).

Ten of these run beside one server, so they import the standard library only, and little of it.
"""
