"""One module per tool or tight family: input type, output type, handler."""
