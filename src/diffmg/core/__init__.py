"""Values and contracts: schema, meta graphs, programs, settings, plans and runs. Nothing here imports torch."""
