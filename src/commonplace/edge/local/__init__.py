"""The local server: many clients of one user on a socket in the data folder."""
