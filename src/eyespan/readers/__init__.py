"""One module for each kind of file: `read(source, request, context)` gives the parts asked for and the kind's facts."""
