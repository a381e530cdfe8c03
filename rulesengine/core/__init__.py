"""Words that every stage shares. Standard library only (and JSON through one door), no I/O."""
