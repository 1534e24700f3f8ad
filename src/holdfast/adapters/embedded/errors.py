"""The error of embedded services."""


class EmbeddedServiceError(Exception):
    """An embedded service cannot run: the reason in one sentence, and the end of its log."""

    def __init__(self, sentence: str, log_lines: tuple[str, ...] = ()) -> None:
        self.sentence = sentence
        self.log_lines = log_lines
        parts = [sentence]
        if log_lines:
            parts += ["Last log lines:", *(f"  {line}" for line in log_lines)]
        super().__init__("\n".join(parts))
