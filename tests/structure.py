#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Holds the tree against its own rules: includes against the table in ARCHITECTURE.md, licence lines, names of folders,
documented prototypes. Speaks TAP."""
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SRC = os.path.join(ROOT, "src")
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.M)


def read(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


def sources():
    for folder, _, names in os.walk(SRC):
        for name in sorted(names):
            if name.endswith((".c", ".h")):
                yield os.path.join(folder, name)


def allowed():
    """The table: a folder (or cmd_*) -> the set that it may include from."""
    rows = re.findall(r"^    (\S+) +→ *(.*)$", read(os.path.join(ROOT, "ARCHITECTURE.md")), re.M)
    return {left: set(right.split()) for left, right in rows}


def layers():
    table = allowed()
    folders = {d for d in os.listdir(SRC) if os.path.isdir(os.path.join(SRC, d))}
    for folder in sorted(folders - set(table)):
        yield f"src/{folder} is not in ARCHITECTURE.md's table"
    for path in sources():
        relative = os.path.relpath(path, SRC)
        own = os.path.dirname(relative)
        may = table["cmd_*"] | {""} if own == "" else table.get(own, set()) | {own}
        for include in INCLUDE.findall(read(path)):
            target = os.path.dirname(include)
            if target not in may:
                yield f"src/{relative} includes {include}: '{own or 'cmd_*'}' may not use '{target}'"
            elif not os.path.exists(os.path.join(SRC, include)) and not include.endswith("_table.h"):
                yield f"src/{relative} includes {include}, which is not there"


def licences():
    tracked = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True,
                             check=False).stdout.split("\n")
    for path in tracked:
        if path.endswith((".c", ".h", ".sh", ".bats", ".bash", ".py", "meson.build")) and os.path.exists(os.path.join(ROOT, path)):
            if "SPDX-License-Identifier: MIT" not in read(os.path.join(ROOT, path))[:200]:
                yield f"{path} has no SPDX line"


def names():
    for path in sources():
        stem = os.path.splitext(os.path.basename(path))[0]
        if stem in ("util", "utils", "misc", "common", "helpers", "helper"):
            yield f"{os.path.relpath(path, ROOT)}: a name that says nothing"


def sizes():
    for path in sources():
        lines = read(path).count("\n")
        if lines > 600:
            yield f"{os.path.relpath(path, ROOT)} has {lines} lines: split it"


def documented():
    """A fallible prototype in a header has a comment above it (or above the run of prototypes that it stands in)."""
    prototype = re.compile(r"^(?!static|typedef|#|\s|//|/\*|\}|extern \")[\w \*]+\([^;{]*struct err \*e\)[^;]*;", re.M)
    for path in sources():
        if not path.endswith(".h"):
            continue
        text = read(path)
        for found in prototype.finditer(text):
            above = text[:found.start()].rstrip("\n").split("\n")
            while above and re.match(r"^[\w].*;$|^\t.*;$", above[-1]):
                above.pop()
            if not above or not above[-1].strip().endswith("*/"):
                line = text[:found.start()].count("\n") + 1
                yield f"{os.path.relpath(path, ROOT)}:{line}: a fallible prototype without its contract"


RULES = [layers, licences, names, sizes, documented]


def main():
    failed = 0
    print(f"1..{len(RULES)}")
    for number, rule in enumerate(RULES, 1):
        faults = list(rule())
        print(f"{'not ok' if faults else 'ok'} {number} - {rule.__name__}: {(rule.__doc__ or '').strip().splitlines()[0] if rule.__doc__ else 'the tree keeps the rule'}")
        for fault in faults:
            print(f"# {fault}")
        failed += bool(faults)
    return 1 if failed else 0


sys.exit(main())
