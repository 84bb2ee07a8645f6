"""The composition root: settings in, a running product out."""
