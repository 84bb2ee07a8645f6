"""Extract proposals from a transcript: pure functions without I/O."""
