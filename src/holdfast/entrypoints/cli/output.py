"""What people read on the terminal. Logs go elsewhere."""


def say(text: str = "") -> None:
    print(text, flush=True)  # noqa: T201
