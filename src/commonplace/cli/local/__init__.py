"""The local server: `serve --socket`, `serve --attach`, `up` and `down`."""
