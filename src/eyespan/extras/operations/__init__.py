"""Commands for people who run eyespan: what an audit log says, whether attacks succeed, help for the shell."""
