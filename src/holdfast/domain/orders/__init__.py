"""Orders: checkout, and the conversion of paid holds."""
