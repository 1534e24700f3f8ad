"""Orders: what paid holds become."""
