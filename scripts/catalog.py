#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Turns a catalogue into a C table: catalog.py xid|metrics IN.json OUT.c. A row that is not complete, not unique or
not of the allowed words stops the build with one line that names the file and the row."""
import json
import re
import sys

SEVERITY = ("info", "warning", "error", "fatal")
WHOSE = ("hardware", "driver", "application")
XID = {"code": int, "name": str, "meaning": str, "severity": SEVERITY, "whose": WHOSE, "nvidia_action": str,
       "ec2_action": str, "source": str, "date": str}
RECOVERY = {"action": int, "name": str, "severity": SEVERITY, "nvidia_action": str, "ec2_action": str, "source": str,
            "date": str}
METRIC = {"name": str, "of": ("gpu", "efa"), "kind": ("gauge", "counter"), "unit": str, "help": str, "source": str,
          "date": str}
# kind -> [(list in the file, its fields, the field that is unique, C type, C name)]
TABLES = {
    "xid": [("xids", XID, "code", "struct xids_row", "xids_table"),
            ("recovery_actions", RECOVERY, "action", "struct xids_recovery", "xids_recovery_table")],
    "metrics": [("metrics", METRIC, "name", "struct metrics_row", "metrics_table")],
}
HEADERS = {"xid": "catalog/xids.h", "metrics": "catalog/metrics.h"}


def fail(text):
    sys.exit("catalog.py: " + text)


def check_value(where, field, want, value):
    if isinstance(want, tuple):
        if value not in want:
            fail(f"{where}: {field} is {value!r}, not one of {', '.join(want)}")
    elif not isinstance(value, want) or isinstance(value, bool):
        fail(f"{where}: {field} is not of type {want.__name__}")
    elif want is str and (not value.strip() or "\n" in value):
        fail(f"{where}: {field} is empty or has more than one line")
    elif want is int and not 0 <= value <= 99999:
        fail(f"{where}: {field} {value} is out of range")
    if field == "date" and not re.fullmatch(r"20\d\d-[01]\d-[0-3]\d", value):
        fail(f"{where}: date is {value!r}, not YYYY-MM-DD")


def check(path, key, rows, fields, unique):
    seen = set()
    for i, row in enumerate(rows):
        where = f"{path}: {key}[{i}] ({unique} {row.get(unique)!r})"
        for field in set(row) ^ set(fields):
            fail(f"{where}: {'unknown' if field in row else 'missing'} field '{field}'")
        for field, want in fields.items():
            check_value(where, field, want, row[field])
        if row[unique] in seen:
            fail(f"{where}: is there twice")
        seen.add(row[unique])


def c_value(value):
    # JSON's escapes are C's for the characters that check_value lets through.
    return json.dumps(value, ensure_ascii=False)


def main(kind, path, out):
    with open(path, encoding="utf-8") as f:
        try:
            data = json.load(f)
        except ValueError as e:
            fail(f"{path}: {e}")
    lines = [f"/* Made from {path.split('/')[-1]} by scripts/catalog.py */", f'#include "{HEADERS[kind]}"']
    for key, fields, unique, c_type, c_name in TABLES[kind]:
        rows = data.get(key)
        if not isinstance(rows, list) or not rows:
            fail(f"{path}: no list '{key}'")
        check(path, key, rows, fields, unique)
        lines.append(f"const {c_type} {c_name}[] = {{")
        for row in sorted(rows, key=lambda r, u=unique: r[u]):
            lines.append("\t{ " + ", ".join(f".{k} = {c_value(row[k])}" for k in fields) + " },")
        lines += ["};", f"const unsigned {c_name}_count = {len(rows)};"]
    with open(out, "w", encoding="utf-8") as f:
        f.write("\n".join(lines) + "\n")


if len(sys.argv) != 4 or sys.argv[1] not in TABLES:
    fail("usage: catalog.py xid|metrics IN.json OUT.c")
main(*sys.argv[1:])
