"""Where an instruction applies: globs over repository paths, languages, and activation."""
