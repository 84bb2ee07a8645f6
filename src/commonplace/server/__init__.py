"""The server about itself: health, metrics, audit."""
