"""Members of diffmg from outside."""
