"""The paper's public files: fetched, verified, converted to the compact form that the package reads."""
