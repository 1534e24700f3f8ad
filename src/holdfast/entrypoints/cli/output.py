"""Output for people at the terminal; logs go elsewhere."""


def say(text: str = "") -> None:
    print(text, flush=True)  # noqa: T201
