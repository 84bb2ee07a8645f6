"""Repositories that anchors are compared with: folders, and stored projects of files."""
