"""`python -m docs.pictures [DIRECTORY]`: draw the pictures of the architecture."""

import sys
from pathlib import Path

from docs.pictures import hold_path, packages, two_services

IMAGES = Path(__file__).parents[1] / "images"


def main(directory: Path) -> None:
    (directory / "packages.svg").write_text(packages.draw())
    (directory / "hold-path.svg").write_text(hold_path.draw())
    (directory / "two-services.svg").write_text(two_services.draw())


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else IMAGES)
