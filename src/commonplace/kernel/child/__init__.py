"""Work on untrusted bytes in a process of its own, with limits of time and memory that hold."""
