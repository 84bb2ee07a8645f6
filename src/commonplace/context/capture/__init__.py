"""Capture: lessons and rules proposed from transcripts of sessions, and the queue they wait in."""
