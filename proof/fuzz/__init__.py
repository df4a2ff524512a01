"""Feed damaged inputs to everything in eyespan that takes bytes from outside, and check every answer.

    python -m proof fuzz --list                                     the targets and the invariant of each
    python -m proof fuzz --target all --runs 2000                   a number of inputs for each target
    python -m proof fuzz --target text notebook --seconds 60        a time for each target
    python -m proof fuzz --target quick --runs 40000 --jobs 2       a group: quick (in this process), worker
    python -m proof fuzz --target pdf --replay FILE                 one input again, as the note of a finding describes
    python -m proof fuzz --target csv --guided --seconds 60         guided by coverage (needs atheris)

A target is one parser: a reader, the arguments of a dialect, the selectors, the configuration, a message of the
protocol. It states its invariant in one sentence, provides seeds, and checks one input. An input is always bytes, and
everything else about a call (window, encoding, dialect) is derived from them, so one file is a complete reproducer.

The same seed gives the same inputs. Each target runs in a separate process that is watched: a process that dies or
hangs is a finding too. Findings are written as files with a note that gives the command to repeat them. The exit status
is 0 if no invariant was broken.
"""
