"""One module per page, each with `register(shell)`."""
