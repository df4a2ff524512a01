"""The kernel's restrictions on this process, and the two profiles made of them.

process       privileges, core dumps, resource limits
landlock      files and TCP ports that can be reached
seccomp       system calls that are refused
interpreter   the files that a Python needs
decoder       the profile of a decoding job: no files, no harmful calls
server        the profile of `eyespan serve`: the roots, and no network
"""
