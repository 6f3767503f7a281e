"""Programs that come with the package; they run in the sandbox like any other."""
