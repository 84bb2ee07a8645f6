"""The web console: pages rendered on the server, which ask the product through tool calls only."""
