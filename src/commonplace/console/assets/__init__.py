"""Scripts and styles of the console: our own, and browser builds from npm packages."""
