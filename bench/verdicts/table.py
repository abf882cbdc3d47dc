"""Markdown tables and figures with a target."""

from collections import namedtuple

# sign: ">=", "<=" or "==": what the value has to be to the target
Goal = namedtuple("Goal", "what value sign target")

SIGNS = {
    ">=": lambda value, target: value >= target,
    "<=": lambda value, target: value <= target,
    "==": lambda value, target: value == target,
}


def met(goal):
    return goal.value is not None and SIGNS[goal.sign](goal.value, goal.target)


def number(value):
    """Figures as a reader wants them: counts with commas, shares to four places."""
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:.4f}" if abs(value) < 1.0005 else f"{value:.2f}" if abs(value) < 100 else f"{value:,.0f}"
    return str(value)


def markdown(header, rows):
    """The first column to the left, the others to the right."""
    lines = [" | ".join(header), "|".join(["---"] + ["--:"] * (len(header) - 1))]
    lines += [" | ".join(number(cell) for cell in row) for row in rows]
    return "\n".join(f"| {line} |" if index != 1 else f"|{line}|" for index, line in enumerate(lines))


def goals(listed):
    words = {">=": "at least", "<=": "at most", "==": "exactly"}
    rows = [(g.what, g.value, f"{words[g.sign]} {number(g.target)}", "PASS" if met(g) else "**FAIL**") for g in listed]
    return markdown(("goal", "measured", "wanted", ""), rows)
