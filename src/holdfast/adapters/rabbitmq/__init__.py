"""RabbitMQ: facts on their way out, and messages of others on their way in."""
