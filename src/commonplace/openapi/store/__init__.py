"""Input and output of the openapi domain: URLs, files and the threads that wait for them."""
