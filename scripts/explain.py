#!/usr/bin/env python3
"""The words behind the errors of a runtime that was built without them (TENON_ERROR_WORDS=OFF).

    scripts/explain.py 'error 3a7f (5)'   as tenon_error says it: number and argument
    scripts/explain.py 3a7f at 5          of op number 5 (`tenon inspect` lists them)
    scripts/explain.py --check            exit status 1 if two messages have the same number
    scripts/explain.py --table FILE       writes all messages, for where the sources are not

"..." stands for what a number has no room for: further arguments, and names.

Looks for the message in messages.json beside this script, which an installed package has, or else in
the sources that the script stands in: they must be those that the firmware was built from, or a
message may have another number, or none.
"""
import json
import pathlib
import re
import sys

TABLE = pathlib.Path(__file__).resolve().parent / "messages.json"
SOURCE = TABLE.parent.parent
# What firmware links, and what stands beside it: messages there have numbers.
DEVICE_FOLDERS = ("runtime/base", "runtime/format", "runtime/ops", "runtime/engine",
                  "backends/cpu/caps", "backends/cpu/kernels/portable",
                  "backends/cpu/kernels/cortex_m", "sdk/src")
LITERALS = re.compile(r'(?:"(?:[^"\\\n]|\\.)*"\s*)+')
LITERAL = re.compile(r'"((?:[^"\\\n]|\\.)*)"')
COMMENT = re.compile(r'//[^\n]*|("(?:[^"\\\n]|\\.)*")')
PLACE = re.compile(r"\{\w\}")
LARGEST_ARGUMENT = 2047  # of Status in runtime/base/status.hpp: stands for all that are larger


def number_of(text):
    """The hash of runtime/base/message.hpp: 32-bit FNV-1a, halves folded."""
    value = 2166136261
    for byte in text.encode():
        value = (value ^ byte) * 16777619 & 0xFFFFFFFF
    return (value ^ value >> 16) & 0xFFFF or 1


def texts_in(source):
    """String constants of several words, adjacent ones joined as the compiler does."""
    code = COMMENT.sub(lambda match: match.group(1) or "", source)
    for literals in LITERALS.findall(code):
        text = "".join(LITERAL.findall(literals)).replace('\\"', '"').replace("\\n", "\n")
        if " " in text:
            yield text


def messages(root=SOURCE):
    """Texts of the sources by number: {number: {text: file}}."""
    found = {}
    for folder in DEVICE_FOLDERS:
        for path in sorted((root / folder).rglob("*.[ch]pp")):
            if "simd" in path.parts:
                continue  # instructions are no messages
            for text in texts_in(path.read_text()):
                found.setdefault(number_of(text), {})[text] = path.relative_to(root).as_posix()
    return found


def installed_messages():
    """The same of the table that an installed package has."""
    return {int(number, 16): texts for number, texts in json.loads(TABLE.read_text()).items()}


def write_table(path):
    table = {f"{number:04x}": texts for number, texts in sorted(messages().items())}
    pathlib.Path(path).write_text(json.dumps(table, indent=1) + "\n")
    return 0


def collisions(found):
    return [texts for texts in found.values() if len(texts) > 1]


def in_words(text, argument, is_op):
    shown = str(argument)
    if argument >= LARGEST_ARGUMENT:
        shown += " or more"
    words = f"op {argument}: {text}" if is_op else text.replace("{0}", shown)
    # One argument has room beside the number, and no name has.
    return PLACE.sub("...", words)


def explain(words):
    match = re.fullmatch(r"(?:error )?([0-9a-fA-F]{4})(?: ?\(?(at )?(\d+)\)?)?", " ".join(words))
    if match is None:
        print(__doc__, file=sys.stderr)
        return 2
    number, is_op, argument = int(match[1], 16), match[2] is not None, int(match[3] or 0)
    found = installed_messages() if TABLE.is_file() else messages()
    texts = found.get(number, {})
    for text, path in texts.items():
        print(f"{in_words(text, argument, is_op)}  [{path}]")
    if not texts:
        print(f"no message of this version has number {number:04x}: is it the one that the firmware "
              "was built from?", file=sys.stderr)
    return 0 if texts else 1


def check():
    found = messages()
    clashes = collisions(found)
    for texts in clashes:
        print("these have the same number; put one of them in other words:")
        for text, path in texts.items():
            print(f"  {path}: {text}")
    print(f"{len(found)} messages")
    return 1 if clashes or not found else 0


def main(words):
    if words == ["--check"]:
        return check()
    if words[:1] == ["--table"] and len(words) == 2:
        return write_table(words[1])
    return explain(words)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
