"""Runs that are killed, interrupted, short of disk or of power, and what becomes of their folders."""
