"""Applying a unified diff, as patch(1) does it without any fuzz."""

import re

HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+\d+(?:,(\d+))? @@")


def patched(text: str, diff: str) -> str:
    """`text` with the diff applied. Fails where a line of the diff is not the text's."""
    if not diff:
        return text
    old = re.findall(r"[^\n]*\n|[^\n]+", text)
    rows = diff.split("\n")
    assert rows[0].startswith("--- version ")
    assert rows[1].startswith("+++ version ")
    new: list[str] = []
    at, row = 0, 2
    while row < len(rows):
        head = HUNK.fullmatch(rows[row])
        assert head, rows[row]
        start, gone, came = int(head[1]), int(head[2] or 1), int(head[3] or 1)
        first = start - 1 if gone else start
        new += old[at:first]
        at, row = first, row + 1
        while gone or came:
            mark, line = rows[row][0], f"{rows[row][1:]}\n"
            row += 1
            if row < len(rows) and rows[row] == "\\ No newline at end of file":
                line, row = line[:-1], row + 1
            if mark in " -":
                assert old[at] == line
                at, gone = at + 1, gone - 1
            if mark in " +":
                new.append(line)
                came -= 1
    return "".join(new + old[at:])
