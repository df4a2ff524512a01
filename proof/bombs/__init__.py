"""Read a corpus of small bombs in every dialect, in one process and over HTTP, and measure memory and time."""
