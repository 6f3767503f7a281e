"""The command line: one file a command. Commands parse, call the rooms below and print; they decide nothing."""
