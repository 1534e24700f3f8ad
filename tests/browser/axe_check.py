"""Looks for faults with axe-core."""

from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from tests.browser.conftest import DESKTOP, PHONE, Visitor

AXE = Path(__file__).parent / "axe" / "axe.min.js"
GRAVE = {"serious", "critical"}
RUN = "axe.run(document, {resultTypes: ['violations']}).then((found) => found.violations)"


def at_axe(visitor: Visitor) -> Visitor:
    """The browser adds the script, so the pages' policy does not apply to it."""
    visitor.page.add_init_script(path=AXE)
    return visitor


def faults(visitor: Visitor) -> list[str]:
    """The grave ones of the page as it is now, in light and dark, and on a phone. Its width changes
    no colors, so one theme will do there."""
    found = [fault for theme in ("dark", "light") for fault in _faults_in(visitor, theme)]
    visitor.assert_fits_the_width()
    visitor.resize(PHONE)
    found += [f"phone: {fault}" for fault in _faults_in(visitor, "light")]
    visitor.assert_fits_the_width()
    visitor.resize(DESKTOP)
    return found


def _faults_in(visitor: Visitor, theme: Literal["dark", "light"]) -> Iterator[str]:
    """The admin's theme is a class; the other pages follow the system."""
    visitor.page.emulate_media(color_scheme=theme)
    visitor.page.evaluate(f"document.documentElement.className = '{theme}'")
    for each in visitor.page.evaluate(RUN):
        if each["impact"] in GRAVE:
            yield from (f"{theme}: {each['id']}: {node['html']}" for node in each["nodes"])
