"""Folders of a disk as the source of a project: import once, or keep in step."""
