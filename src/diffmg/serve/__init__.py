"""A model, or a folder of runs, behind HTTP. Only `limits` and `refused` import without the extra `[serve]`."""
