"""Mutants: the whole command with a fault linked in. The audit must refute each, by the point that is there for it.
With the same options it must not refute the command as it is. Prints the table, and ends with 1 where one survives.

Seeds are fixed, so verdicts are always the same. With another seed, the command as it is would be refuted with a
probability below 1e-6. key_fixed alone has no seed: it breaks the system's random source and is certain to be found."""
# labels: long once

import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys

BINARY = pathlib.Path(os.environ["TACIT_BINARY_DIR"])
EXAMPLES = pathlib.Path(os.environ["TACIT_SOURCE_DIR"]) / "examples"

SEEDED, FEW = ("--seed", "1"), ("--seed", "1", "--samples", "2000")
PUBLISHED = ("--placement", "outputs", "--method", "published")
END_TO_END = (*FEW, "--end-to-end")

# name, what is wrong, problem, options, the point that must be refuted, a word of what it must say
MUTANTS = [
    ("noise_halved", "noise has half its scale", "paper", FEW, "noise", "smaller than the plan says"),
    ("noise_halved", "the same, Gaussian on states", "robots", FEW, "noise", "smaller than the plan says"),
    ("noise_forgotten", "one number has no noise", "paper", FEW, "noise", "never changed"),
    ("noise_in_floating_point", "noise in floating point", "num", (*FEW, *PUBLISHED), "noise", "no multiples"),
    ("one_sided", "noise is never below zero", "ev", FEW, "noise", "above zero"),
    ("one_sided", "the same, Laplace", "num", FEW, "noise", "above zero"),
    ("tails_cut", "draws beyond four scales are cut off", "num", SEEDED, "noise", "exceeds"),
    ("noise_reused", "two rounds have the same noise", "robots", FEW, "independence", "used twice"),
    ("rounds_negate", "a round's noise is minus that of the one before", "num", FEW, "independence", "before"),
    ("words_shared", "all entries of a round share two noise words", "paper", FEW, "independence", "same side"),
    ("words_shared", "the same, many rows", "ev", FEW, "independence", "same side"),
    ("odd_negates_even", "odd entries' noise is minus that of the even ones", "num", FEW, "independence", "same side"),
    ("neighbours_share", "agents in pairs have the same noise", "robots", FEW, "independence", "same side"),
    ("first_round_silent", "no noise in round 1", "paper", FEW, "first round", "no noise"),
    ("first_round_silent", "the same, forms and rows", "ev", FEW, "first round", "no noise"),
    ("key_fixed", "every start has the same key", "num", ("--samples", "2000"), "first round", "same under every key"),
    ("sensitivities_a_tenth_low", "sensitivities 10 % low", "paper", FEW, "price", None),
    ("sensitivities_a_tenth_low", "the same, noise on outputs", "paper", (*FEW, *PUBLISHED), "price", None),
    ("sensitivities_a_third_low", "sensitivities 30 % low", "ev", FEW, "price", None),
    ("a_row_a_thousandth", "one row's sensitivity is a thousandth", "ev", FEW, "price", None),
    ("laplace_in_l2", "Laplace is priced in l2", "paper", (*FEW, *PUBLISHED), "price", None),
    ("agent_forgets_rounds", "the unit agent forgets the number of rounds", "ev", FEW, "price", None),
    ("agent_forgets_rounds", "the same, Laplace", "paper", (*FEW, "--adjacency", "agent"), "price", None),
    ("sets_counted_once", "two states share one public set", "capped", FEW, "price", None),
    ("sets_not_enforced", "public sets are not enforced", "capped", FEW, "public set", "not moved into it"),
    ("step_carries_a_bit", "the step scalar carries a bit of the input", "paper", END_TO_END, "end to end", "the step"),
    ("memory_keeps_a_state", "the journal keeps a private number", "num", END_TO_END, "end to end", "the journal: memory"),
    ("mac_without_key", "the input's MAC has no key", "num", END_TO_END, "end to end", "under another key"),
    ("log_tells_of_clamping", "the log tells of a state outside the box", "paper", END_TO_END, "end to end", "the log"),
    ("page_counts_clamping", "the metrics count states outside the box", "num", END_TO_END, "end to end", "/metrics"),
    ("others_told_of_clamping", "all agents are told of one outside the box", "robots", END_TO_END, "end to end", "others hear"),
]


def audit(program, problem, options):
    folder = EXAMPLES if (EXAMPLES / f"{problem}.tacit").exists() else EXAMPLES.parent / "tests/audit"
    command = [str(BINARY / program), "audit", str(folder / f"{problem}.tacit"), "--json", *options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=1200)
    answer = json.loads(done.stdout) if done.returncode in (0, 1) else None
    return done, answer


def said(answer):
    """All that an answer gives as reasons."""
    return [fault["text"] for fault in answer["faults"]] + answer.get("end_to_end", {}).get("differs_in", [])


def try_mutant(mutant):
    """What killed it, or None; and why not."""
    name, _, problem, options, point, word = mutant
    done, answer = audit(f"tacit_with_{name}", problem, options)
    if answer is None:
        return None, f"exit {done.returncode}: {done.stderr[-300:]}"
    verdicts = {p["name"]: p["verdict"] for p in answer.get("points", [])}
    if done.returncode != 1 or answer["verdict"] != "refuted" or verdicts.get(point) != "refuted":
        return None, f"exit {done.returncode}, {answer['verdict']}, {verdicts}, {answer.get('end_to_end')}"
    if word is not None and not any(word in text for text in said(answer)):
        return None, f"refuted, but not for '{word}': {said(answer)}"
    return "tacit audit: " + ", ".join(p for p, v in verdicts.items() if v == "refuted"), None


def try_honest(case):
    """The command as it is, with the same options: each point but the samples' is looked at, and none is refuted."""
    problem, options = case
    done, answer = audit("tacit", problem, options)
    if answer is None:
        return f"exit {done.returncode}: {done.stderr[-300:]}"
    points = {p["name"]: p["verdict"] for p in answer["points"] if p["name"] != "samples"}
    if answer["refuted"] or set(points.values()) != {"not_refuted"}:
        return f"{answer['verdict']}, {points}, {said(answer)}"
    return None


def main():
    names = {mutant[0] for mutant in MUTANTS}
    cases = sorted({(problem, options) for _, _, problem, options, _, _ in MUTANTS})
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        found = list(pool.map(try_mutant, MUTANTS))
        honest = list(pool.map(try_honest, cases))
    wide = max(len(what) for _, what, *_ in MUTANTS)
    print(f"{'what is wrong':{wide}}  {'problem':7}  killed by")
    survivors = 0
    for (name, what, problem, *_), (killer, why) in zip(MUTANTS, found):
        print(f"{what:{wide}}  {problem:7}  {killer or 'SURVIVED'}")
        if killer is None:
            survivors += 1
            print(f"    tacit_with_{name}: {why}")
    accused = 0
    for (problem, options), why in zip(cases, honest):
        if why is not None:
            accused += 1
            print(f"REFUTED WITHOUT A FAULT  {problem} {' '.join(options)}: {why}")
    print(f"{len(names)} faults in {len(MUTANTS)} mutants: {len(MUTANTS) - survivors} killed, {survivors} survived; "
          f"as it is, {len(cases) - accused} of {len(cases)} audits find nothing")
    return 1 if survivors or accused or len(names) < 15 else 0


if __name__ == "__main__":
    sys.exit(main())
