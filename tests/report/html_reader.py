"""Reads a page as its elements, and refuses one whose tags are not balanced."""

from __future__ import annotations

from dataclasses import dataclass, field
from html.parser import HTMLParser

VOID = {"meta", "link", "br", "img", "input", "hr"}


@dataclass
class Element:
    """An element with its attributes and all text inside it."""

    tag: str
    attributes: dict[str, str]
    path: tuple[str, ...]
    texts: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.texts).split())

    @property
    def classes(self) -> list[str]:
        return self.attributes.get("class", "").split()


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[Element] = []
        self.open: list[Element] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        path = tuple(element.tag for element in self.open)
        element = Element(tag, {key: value or "" for key, value in attrs}, path)
        self.elements.append(element)
        if tag not in VOID:
            self.open.append(element)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        path = tuple(element.tag for element in self.open)
        element = Element(tag, {key: value or "" for key, value in attrs}, path)
        self.elements.append(element)

    def handle_endtag(self, tag: str) -> None:
        assert self.open and self.open[-1].tag == tag, f"unbalanced </{tag}>"
        self.open.pop()

    def handle_data(self, data: str) -> None:
        for element in self.open:
            element.texts.append(data)


def read_html(page: bytes | str) -> list[Element]:
    """Every element of a page, in document order."""
    reader = _Reader()
    reader.feed(page.decode() if isinstance(page, bytes) else page)
    reader.close()
    assert not reader.open, f"never closed: {[element.tag for element in reader.open]}"
    return reader.elements


def only(elements: list[Element], tag: str, **attributes: str) -> Element:
    """The one element with this tag and these attributes."""
    found = [
        element
        for element in elements
        if element.tag == tag
        and all(element.attributes.get(key) == value for key, value in attributes.items())
    ]
    assert len(found) == 1, (tag, attributes, len(found))
    return found[0]
