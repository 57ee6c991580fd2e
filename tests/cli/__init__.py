"""The command, as a person at a shell or a build server meets it."""
