"""What matplotlib draws, as small SVG that lives in a page and follows its colours.

matplotlib writes a document of its own.  Inside a page its style sheet would reach all
elements, two drawings would share ids, and fonts and colours would not be the page's.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from xml.etree import ElementTree

_SVG = "http://www.w3.org/2000/svg"
_LINK = "{http://www.w3.org/1999/xlink}href"
_DECIMALS = re.compile(r"-?\d+\.\d+(?:e-?\d+)?")
_FAMILY = re.compile(r"font-family:[^;]*;?\s*")
_SHORTHAND = re.compile(r"font:\s*(?:(\d+|bold)\s+)?([\d.]+px)[^;]*")
_REFERENCE = re.compile(r"url\(#([^)]+)\)")
_NO_TURN = re.compile(r"rotate\(-?0 [^)]*\)")
_COLOUR = re.compile(r"#[0-9a-f]{6}")


def page_svg(
    drawn: str, *, name: str, title: str, colours: Mapping[str, str], max_width: int
) -> str:
    """Return one ``<svg>`` element to be put into a page as it is.

    Parameters
    ----------
    drawn : str
        The document that matplotlib wrote.
    name : str
        What no other figure of the page is called: ids are made of it.
    title : str
        What the figure shows, for those who do not see it.
    colours : mapping of str to str
        The page's colour for every ``#rrggbb`` that was drawn with.
    max_width : int
        Widest it may become, in pixels of the page; it shrinks as far as need be.
    """
    root = ElementTree.fromstring(drawn)
    for element in root.iter():
        element.tag = element.tag.removeprefix(f"{{{_SVG}}}")
    _drop_useless(root)
    _bare_root(root, title, max_width)
    _rename_ids(root, hashlib.sha256(name.encode()).hexdigest()[:8])
    for element in root.iter():
        _shorten(element, colours)
    for element in root.iter():
        _hoist_style(element)
    _unwrap_groups(root)
    return ElementTree.tostring(root, encoding="unicode")


def _bare_root(root: ElementTree.Element, title: str, max_width: int) -> None:
    box = root.attrib["viewBox"]
    root.attrib.clear()
    root.attrib.update(
        {
            "xmlns": _SVG,
            "viewBox": box,
            "role": "img",
            "stroke-linejoin": "round",
            "style": f"display:block;width:100%;height:auto;max-width:{max_width}px",
        }
    )
    said = ElementTree.Element("title")
    said.text = title
    root.insert(0, said)


def _drop_useless(root: ElementTree.Element) -> None:
    """Remove the style sheet, what is invisible and what is empty then."""
    for parent in list(root.iter()):
        for child in list(parent):
            if child.tag == "style" or child.get("style") == "fill: none":
                parent.remove(child)
    for child in list(root):
        if child.tag == "defs" and not len(child):
            root.remove(child)


def _rename_ids(root: ElementTree.Element, prefix: str) -> None:
    """Keep the ids that something refers to, under names of this figure's own."""
    wanted: dict[str, str] = {}
    for element in root.iter():
        target = element.attrib.pop(_LINK, "").removeprefix("#")
        if target:
            element.set("href", "#" + _known(wanted, target, prefix))
        clip = _REFERENCE.fullmatch(element.get("clip-path", ""))
        if clip:
            element.set("clip-path", f"url(#{_known(wanted, clip[1], prefix)})")
    for element in root.iter():
        own = element.attrib.pop("id", None)
        if own in wanted:
            element.set("id", wanted[own])


def _known(wanted: dict[str, str], target: str, prefix: str) -> str:
    return wanted.setdefault(target, f"f{prefix}-{len(wanted)}")


def _shorten(element: ElementTree.Element, colours: Mapping[str, str]) -> None:
    attributes = element.attrib
    for name in ("d", "x", "y", "width", "height", "transform", "style"):
        if name in attributes:
            attributes[name] = _DECIMALS.sub(_two_places, attributes[name])
    if "d" in attributes:
        attributes["d"] = re.sub(r"\s*([A-Za-z])\s*", r"\1", attributes["d"]).strip()
    if "transform" in attributes:
        turned = _NO_TURN.sub("", attributes.pop("transform")).strip()
        attributes.update({"transform": turned} if turned else {})
    if "style" in attributes:
        attributes["style"] = _page_style(attributes["style"], colours)
    if element.tag not in ("text", "title"):
        element.text = None
    element.tail = None


def _page_style(style: str, colours: Mapping[str, str]) -> str:
    style = _FAMILY.sub("", _SHORTHAND.sub(_font_parts, style)).strip("; ")
    style = re.sub(r"([:;]) ", r"\1", style)
    return _COLOUR.sub(lambda found: colours.get(found[0], found[0]), style)


def _font_parts(found: re.Match[str]) -> str:
    """Return weight and size alone: matplotlib before 3.10 writes all in one."""
    weight = f"font-weight: {found[1]}; " if found[1] else ""
    return f"{weight}font-size: {found[2]}"


def _two_places(found: re.Match[str]) -> str:
    return f"{float(found[0]):.2f}".rstrip("0").rstrip(".").replace("-0.", "-.")


def _hoist_style(element: ElementTree.Element) -> None:
    """Say once for all what the marks of a group have in common."""
    styles = {child.get("style") for child in element}
    is_marks = all(child.tag == "use" for child in element)
    common = next(iter(styles), None)
    if len(element) < 2 or not is_marks or len(styles) > 1 or common is None:
        return
    if "style" in element.attrib:
        return
    element.set("style", common)
    for child in element:
        del child.attrib["style"]


def _unwrap_groups(root: ElementTree.Element) -> None:
    """Replace groups that say nothing by what is in them."""
    for parent in list(root.iter()):
        parent[:] = [kept for child in list(parent) for kept in _unwrapped(child)]


def _unwrapped(element: ElementTree.Element) -> list[ElementTree.Element]:
    if element.tag != "g" or element.attrib:
        return [element]
    return [kept for child in element for kept in _unwrapped(child)]
