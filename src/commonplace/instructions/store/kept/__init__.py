"""Rules that are kept on disk for hooks, which cannot wait for a catalogue to be loaded."""
