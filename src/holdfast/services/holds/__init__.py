"""Placing, releasing and extending holds, the reaper and statistics."""
