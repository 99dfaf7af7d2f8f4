"""Commands for those who maintain the package."""
