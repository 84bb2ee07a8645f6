"""Several documents joined into one."""
