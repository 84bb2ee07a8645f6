"""Drop-in commands: `rekall` and `oastools`, answered by this program."""
