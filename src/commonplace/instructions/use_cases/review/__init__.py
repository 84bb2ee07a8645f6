"""Reviews: submit, read, comment and decide."""
