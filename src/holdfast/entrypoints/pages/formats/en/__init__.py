"""How the pages write dates in English."""
