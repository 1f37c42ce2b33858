# SPDX-License-Identifier: Apache-2.0
"""Reads the C headers: functions, structs and constants, as plain tuples of C words."""

import re

from places import SOURCE

INCLUDE = SOURCE / "include" / "quantjit"


def code(name):
    """A header without its comments and preprocessor lines."""
    text = (INCLUDE / name).read_text()
    text = re.sub(r"//[^\n]*|/\*.*?\*/", "", text, flags=re.DOTALL)
    return re.sub(r"^#(?:[^\n\\]|\\\n|\\.)*$", "", text, flags=re.MULTILINE)


def words(text):
    return " ".join(text.replace("*", " * ").split()).replace(" *", "*").replace("const ", "")


def split_declaration(text):
    """(C type, name) of a parameter or member."""
    found = re.fullmatch(r"(.*?[\s*])(\w+)((?:\[\d+\])?)", text.strip())
    assert found, f"not understood: {text!r}"
    return words(found.group(1)) + found.group(3), found.group(2)


def functions():
    """name -> (C result, [C argument types])."""
    found = {}
    for result, name, arguments in re.findall(r"QJ_API\s+([\w\s*]+?)\b(qj_\w+)\s*\(([^)]*)\);", code("quantjit.h")):
        listed = (
            [] if arguments.strip() in ("", "void") else [split_declaration(part)[0] for part in arguments.split(",")]
        )
        found[name] = (words(result), listed)
    return found


def structs():
    """name -> [(C type, member)] of every struct that is defined."""
    found = {}
    for name, body in re.findall(r"typedef struct (\w+) \{(.*?)\} \w+;", code("qj_types.h"), re.DOTALL):
        members = []
        for line in body.split(";"):
            pointer = re.search(r"\(\*(\w+)\)", line)
            if pointer:
                members.append(("deleter" if pointer.group(1) == "deleter" else "function", pointer.group(1)))
            elif line.strip():
                members.append(split_declaration(line))
        found[name] = members
    return found


def constants():
    """name -> number of every enumerator."""
    found = {}
    for body in re.findall(r"enum(?:\s+\w+)? \{(.*?)\}", code("qj_types.h"), re.DOTALL):
        found.update({name: int(value) for name, value in re.findall(r"(QJ_\w+)\s*=\s*(\d+)", body)})
    return found
