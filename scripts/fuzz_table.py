#!/usr/bin/env python3
"""What all runs of fuzz.sh have tried and found, by target, as a table.

usage: fuzz_table.py RUNS.tsv

Each line of the file is a run: when, target, seconds by the clock, of the processor in the program
and in the system, executions, cov and features when it began and when it ended, findings.
"""

import sys


def read(path):
    runs = {}
    with open(path, encoding="utf-8") as file:
        for line in file:
            words = line.rstrip("\n").split("\t")
            target = words[1]
            numbers = [float(word) for word in words[2:]]
            runs.setdefault(target, []).append(numbers)
    return runs


def row(target, runs):
    seconds = executions = findings = since = 0
    most = -1
    for _, user, system, tried, _, _, edges, _, found in runs:
        seconds += user + system
        executions += tried
        findings += found
        since += user + system
        if edges > most:
            most, since = edges, 0  # grew in this run
    first = next((run for run in runs if run[4] > 0), runs[0])
    features = max(run[7] for run in runs)
    cells = [target, str(len(runs)), f"{seconds / 60:.1f}", f"{executions:,.0f}",
             f"{first[4]:,.0f}, {first[5]:,.0f}", f"{max(most, 0):,.0f}, {features:,.0f}",
             f"{since / 60:.1f}", f"{findings:.0f}"]
    return "| " + " | ".join(cells) + " |", seconds


def main():
    print("| target | runs | minutes of processor time | executions | cov, features at first | at the end | "
          "minutes since cov grew | findings |")
    print("| --- " * 8 + "|")
    total = 0
    for target, runs in read(sys.argv[1]).items():
        text, seconds = row(target, runs)
        total += seconds
        print(text)
    print(f"\n{total / 3600:.2f} hours of processor time in all")


if __name__ == "__main__":
    main()
