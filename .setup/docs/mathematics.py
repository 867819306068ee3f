"""Hook: formulas become MathML when the site is built, so that pages need no script to show them."""

from __future__ import annotations

import html
import re
from typing import Any

from latex2mathml.converter import convert

_INLINE = re.compile(r'<span class="arithmatex">\\\((.+?)\\\)</span>', re.DOTALL)
_BAR = re.compile(r"<mo[^>]*>&#x0007C;</mo>")
_BLOCK = re.compile(r'<div class="arithmatex">\s*\\\[(.+?)\\\]\s*</div>', re.DOTALL)


def on_page_content(content: str, **_: Any) -> str:
    """Replace what arithmatex marked as LaTeX."""
    content = _INLINE.sub(lambda match: mathml(match[1], "inline"), content)
    return _BLOCK.sub(lambda match: f'<div class="formula">{mathml(match[1], "block")}</div>', content)


def mathml(escaped: str, display: str) -> str:
    """MathML of a formula. Browsers set a bar apart like an operator, so that |x| would fall to pieces."""
    formula = convert(html.unescape(escaped).strip(), display=display)
    return _BAR.sub('<mo stretchy="false" lspace="0" rspace="0">|</mo>', formula)
