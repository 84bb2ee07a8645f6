"""Durable project files, isolated by tenant."""
