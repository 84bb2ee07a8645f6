"""Pure algorithms of the instruction catalogue: no files, no clock of their own."""
