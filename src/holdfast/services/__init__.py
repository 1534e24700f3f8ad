"""The use cases, one module per job. They know the domain and the ports, nothing else of ours."""
