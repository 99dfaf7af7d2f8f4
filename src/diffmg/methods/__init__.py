"""Methods: what turns a problem into a model. One file per member, one registry."""
