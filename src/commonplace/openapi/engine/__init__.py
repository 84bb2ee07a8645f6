"""Pure algorithms over loaded documents. No I/O."""
