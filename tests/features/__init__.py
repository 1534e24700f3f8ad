"""The feature files, run over real HTTP."""
