"""Search methods for meta graphs. One file per method."""
