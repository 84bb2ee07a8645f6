"""Merging of several documents into one."""
