"""The web console: pages for people, every action a tool call with the person's own permissions.

Imports NiceGUI only when opened.
"""
