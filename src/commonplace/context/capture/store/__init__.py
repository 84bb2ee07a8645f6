"""The queue of proposals."""
