#!/usr/bin/env python3
"""Writes completion for bash and zsh, and a manual page, from what `tenon --help` says.

usage: command_pages.py TENON FOLDER

Writes FOLDER/tenon (bash), FOLDER/_tenon (zsh) and FOLDER/tenon.1.
"""
import pathlib
import re
import subprocess
import sys
from typing import NamedTuple

OPTION = re.compile(r"^  (-\S+)(.*)$")
VALUES = re.compile(r"\{([^}]+)\}")


class Option(NamedTuple):
    names: list  # "-q", "--quiet"
    form: str    # of its value, as the help has it
    values: list  # that it takes, if these are few
    text: str


class Command(NamedTuple):
    name: str
    text: str
    usage: str
    options: list


def help_of(tenon, *command):
    done = subprocess.run([tenon, *command, "--help"], capture_output=True, text=True, check=True)
    return done.stdout


def parse_option(line, following):
    names, rest = re.match(r"  (\S+)(.*)", line).groups()
    form, _, text = rest.strip().partition("  ")
    text = text.strip()
    if not text and following.startswith(" " * 20):
        text = following.strip()
    if not rest.startswith(" ") or rest.startswith("  "):
        form, text = "", rest.strip() or text
    found = VALUES.search(form)
    return Option(names.split(","), form, found[1].split(",") if found else [], text)


def options_in(text):
    lines = text.splitlines() + [""]
    return [parse_option(line, lines[i + 1]) for i, line in enumerate(lines) if OPTION.match(line)]


def commands_of(tenon):
    text = help_of(tenon)
    listed = re.findall(r"^  (\w+)  +(\S.*)$", text.split("Subcommands:")[1].split("Exit status")[0], re.M)
    commands = []
    for name, summary in listed:
        page = help_of(tenon, name)
        usage = re.search(r"^Usage: (.*)$", page, re.M)[1]
        commands.append(Command(name, summary, usage, options_in(page)))
    return commands


def bash(commands):
    cases = []
    for command in commands:
        names = [name for option in command.options for name in option.names if name.startswith("--")]
        values = "".join(f"        {option.names[-1]}) values='{' '.join(option.values)}' ;;\n"
                         for option in command.options if option.values)
        cases.append(f"    {command.name})\n      names='{' '.join(names)}'\n"
                     f"      case \"$option\" in\n{values}        *) ;;\n      esac ;;\n")
    return f"""# Completion of the tenon command, made by scripts/command_pages.py from its help.
_tenon() {{
  local current="${{COMP_WORDS[COMP_CWORD]}}" option="${{COMP_WORDS[COMP_CWORD-1]}}" names='' values=''
  # Bash takes "=" for a word of its own.
  if [ "$current" = '=' ]; then current=''; elif [ "$option" = '=' ]; then option="${{COMP_WORDS[COMP_CWORD-2]}}"; fi
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W '{' '.join(command.name for command in commands)} --help --version' -- "$current"))
    return
  fi
  case "${{COMP_WORDS[1]}}" in
{''.join(cases)}  esac
  if [ "$option" = --board ]; then values="$(tenon boards 2>/dev/null | cut -d ' ' -f 1)"; fi
  case "$current" in
    -*) COMPREPLY=($(compgen -W "$names" -- "$current")) ;;
    *) if [ -n "$values" ]; then
         COMPREPLY=($(compgen -W "$values" -- "$current"))
       else
         COMPREPLY=($(compgen -f -- "$current"))
       fi ;;
  esac
}}
complete -o filenames -F _tenon tenon
"""


ZSH = """#compdef tenon
# Completion of the tenon command: that of bash, which zsh runs.
autoload -U +X bashcompinit && bashcompinit
source "${0:A:h}/../../bash-completion/completions/tenon"
"""


def roff(text):
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return "\\&" + text if text[:1] in (".", "'") else text


def manual(commands, version):
    lines = [f'.TH TENON 1 "" "{version}"', ".SH NAME",
             "tenon \\- compiles a trained model for a board, and runs it there",
             ".SH SYNOPSIS", ".B tenon", "COMMAND [OPTIONS] ...", ".SH COMMANDS"]
    for command in commands:
        lines += [f".SS {roff(command.name)}", roff(command.text), ".PP", roff(command.usage)]
        for option in command.options:
            lines += [".TP", ".B " + roff(", ".join(option.names) + (f" {option.form}" if option.form else "")),
                      roff(option.text) or "."]
    lines += [".SH EXIT STATUS",
              "0 done; 1 the answer is no; 2 usage; 3 input refused; 4 does not fit; 5 device or backend failure, or",
              "an output could not be written."]
    return "\n".join(lines) + "\n"


def main():
    tenon, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    commands = commands_of(tenon)
    version = subprocess.run([tenon, "--version"], capture_output=True, text=True, check=True).stdout.strip()
    (folder / "tenon").write_text(bash(commands))
    (folder / "_tenon").write_text(ZSH)
    (folder / "tenon.1").write_text(manual(commands, version))


if __name__ == "__main__":
    main()
