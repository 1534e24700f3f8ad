"""RabbitMQ: publishing facts, and consuming messages."""
