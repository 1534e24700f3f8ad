"""How the pages write dates, by language."""
