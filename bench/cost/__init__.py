"""What a hold costs: CPU time, time under the lock, statements, round trips and function calls."""
