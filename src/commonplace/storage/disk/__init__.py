"""Files and folders: access, privacy, durability, identity and free space."""
