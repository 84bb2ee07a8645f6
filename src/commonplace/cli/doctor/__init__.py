"""`commonplace doctor`: check configuration, data and installation."""
