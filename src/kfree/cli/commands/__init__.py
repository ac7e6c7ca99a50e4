"""The commands, one module each: HELP, add_options and run."""
