"""Configuration: where settings come from, and the checks of their values."""
