"""Commands for people who run eyespan: the state of an installation, whether attacks succeed, help for the shell."""
