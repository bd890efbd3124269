"""Mutants: the whole command with a fault linked in. The audit must refute each, by the point that is there for it; the
verifier of certificates must refuse what some of them claim. What no audit can see, since no privacy rests on it, has a
test that must fail. With the same options nothing is refuted and no test fails of the command as it is. Prints the table,
and ends with 1 where one survives.

Seeds are fixed, so verdicts are always the same. With another seed, the command as it is would be refuted with a
probability below 1e-6. key_fixed alone has no seed: it breaks the system's random source and is certain to be found."""
# labels: long once

import concurrent.futures
import functools
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

BINARY = pathlib.Path(os.environ["TACIT_BINARY_DIR"])
EXAMPLES = pathlib.Path(os.environ["TACIT_SOURCE_DIR"]) / "examples"
TESTS = EXAMPLES.parent / "tests"

SEEDED, FEW = ("--seed", "1"), ("--seed", "1", "--samples", "2000")
OUTPUTS = ("--placement", "outputs")
PUBLISHED = (*OUTPUTS, "--method", "published")
END_TO_END = (*FEW, "--end-to-end")
LAST = ("--mechanism", "laplace", "--adjacency", "one:1", "--rounds", "100", "--delta", "1e-6", "--feasible", "always")
# Bounds that are drawn near show in few samples.
NEAR = (*FEW, "--mechanism", "laplace", "--adjacency", "one:1", "--rounds", "100", "--delta", "0.01", "--feasible", "always")
GAUSSIAN = (*FEW, "--mechanism", "gaussian", *NEAR[len(FEW) + 2:])

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
    ("equalities_half", "sensitivities of equalities are half", "dispatch", (*FEW, *OUTPUTS), "price", None),
    ("equalities_half", "the same, method published", "dispatch", (*FEW, *PUBLISHED), "price", None),
    ("minus_row_a_thousandth", "-u <= c of abs(u) <= c is hardly counted", "lasso", (*FEW, *OUTPUTS), "price", None),
    ("laplace_in_l2", "Laplace is priced in l2", "paper", (*FEW, *PUBLISHED), "price", None),
    ("agent_forgets_rounds", "the unit agent forgets the number of rounds", "ev", (*FEW, "--adjacency", "agent"), "price", None),
    ("agent_forgets_rounds", "the same, Laplace", "paper", (*FEW, "--adjacency", "agent"), "price", None),
    ("agent_forgets_rounds", "the unit data forgets the number of rounds", "ev", FEW, "price", None),
    ("distances_half", "distances of every round are halved", "ev", (*FEW, "--adjacency", "agent:5"), "price", None),
    ("distances_half", "the same, Laplace on states", "num", (*FEW, "--adjacency", "agent:0.5", "--placement", "states"), "price", None),
    ("distances_half", "the same, of protected data", "protected", FEW, "price", None),
    ("distances_half", "the same, Laplace on forms", "protected", (*FEW, "--mechanism", "laplace", "--placement", "forms"), "price",
     None),
    ("sets_counted_once", "two states share one public set", "capped", FEW, "price", None),
    ("sets_not_enforced", "public sets are not enforced", "capped", FEW, "public set", "not moved into it"),
    ("last_noise_halved", "the last round's noise has half its scale", "num", NEAR, "last round", "smaller than the plan says"),
    ("last_noise_halved", "the same, Gaussian", "robots", GAUSSIAN, "last round", "smaller than the plan says"),
    ("last_noise_forgotten", "one number of the last round has no noise", "num", NEAR, "last round", "never changed"),
    ("last_noise_forgotten", "the same, Gaussian", "paper", GAUSSIAN, "last round", "never changed"),
    ("last_bounds_ignored", "the last round's noise has no bounds", "num", NEAR, "last round", "beyond its bounds"),
    ("last_bounds_clamped", "its noise is cut off at its bounds", "num", NEAR, "last round", "exceeds"),
    ("last_bounds_near", "its bounds are nearer than the plan's", "num", NEAR, "last round", "exceeds"),
    ("last_entries_share", "all its numbers share two noise words", "num", GAUSSIAN, "last round", "same side"),
    ("sources_shared", "last round and rounds have the same source", "num", NEAR, "last round", "the same source"),
    ("sources_shared", "the same, Gaussian", "paper", GAUSSIAN, "last round", "the same source"),
    ("key_fixed", "every start has the same key, in the last round too", "num", ("--samples", "2000", *NEAR[len(FEW):]), "last round",
     "same under every key"),
    ("bounds_half", "the last round's noise has half its bounds", "num", (*FEW, *LAST), "last round", None),
    ("last_round_unpaid", "nobody pays for the last round", "num", (*FEW, *LAST), "price", None),
    ("last_round_unpaid", "the same, Gaussian", "paper", GAUSSIAN, "price", None),
    ("step_carries_a_bit", "the step scalar carries a bit of the input", "paper", END_TO_END, "end to end", "the step"),
    ("memory_keeps_a_state", "the journal keeps a private number", "num", END_TO_END, "end to end", "the journal: memory"),
    ("mac_without_key", "the input's MAC has no key", "num", END_TO_END, "end to end", "under another key"),
    ("log_tells_of_clamping", "the log tells of a state outside the box", "paper", END_TO_END, "end to end", "the log"),
    ("page_counts_clamping", "the metrics count states outside the box", "num", END_TO_END, "end to end", "/metrics"),
    ("others_told_of_clamping", "all agents are told of one outside the box", "robots", END_TO_END, "end to end", "others hear"),
]
# name, what is wrong, problem, options: the verifier refuses the certificate
CERTIFIED = [
    ("equalities_half", "sensitivities of equalities are half", "dispatch", OUTPUTS),
    ("minus_row_a_thousandth", "-u <= c of abs(u) <= c is hardly counted", "lasso", OUTPUTS),
    ("distances_half", "distances of every round are halved", "num", ("--adjacency", "agent:0.5", "--rounds", "100")),
    ("last_round_unpaid", "nobody pays for the last round", "num", LAST),
    ("bounds_half", "the last round's noise has half its bounds", "paper", LAST),
]

# name, what is wrong, the test that fails, a word of what it must say. A script is given the command; of it, one class.
TESTED = [
    ("radius_of_private_data", "a dual radius of private data passes as public", "analysis/test_equalities.py", "Promises",
     "test_without_room_there_is_no_public_radius"),
    ("radius_forgets_rises", "the dual radius forgets that inequalities rise", "analysis/test_equalities.py", "Attained",
     "test_the_radius_is_nearly_attained"),
    ("negative_multipliers_free", "the dual radius does not count negative prices", "solver/test_project", None,
     "multipliers_of_equalities_keep_their_sign"),
    ("kinks_stop_early", "an agent's step with kinks stops early", "engine/test_proximal_kinks", None,
     "steps_in_another_set_are_the_minimum_too"),
    ("last_round_unpaid", "nobody pays for the last round", "plan/test_last", None, "everything_together_costs_what_was_asked"),
    ("bounds_half", "the last round's noise has half its bounds", "plan/test_last", None, "everything_together_costs_what_was_asked"),
    ("bounds_cost_nothing", "bounds of noise cost no delta", "promise/test_last_rounds", None, "what_bounds_cost_is_counted_and_needed"),
    ("bounds_not_entered", "a ledger's line forgets the last round", "promise/test_last_rounds", None,
     "a_plan_is_entered_with_its_last_round"),
    ("move_too_short", "the last round moves results too little", "engine/test_last", None,
     "a_certified_move_is_enough_for_all_that_is_possible"),
    ("average_of_some_rounds", "an average is sent though rounds are missing", "serve/test_last_round.py",
     "LastRound.test_an_agent_without_an_average_of_all_rounds_sends_none",
     "test_an_agent_without_an_average_of_all_rounds_sends_none"),
    *((fault, what, "engine/test_data_worlds", None, word) for fault, what, word in (
        ("simplex_half", "a simplex's size moves states half as far", "distances_hold_in_every_round"),
        ("factors_maximum", "a datum in a factor and in what is left: the larger counts", "distances_hold_in_every_round"),
        ("slopes_maximum", "of a sum that moves the part that moves most counts", "distances_hold_in_random_problems"),
        ("bounds_without_coefficients", "x moves as b in a x <= b does", "distances_hold_in_every_round"),
        ("set_or_wish", "a datum in set and objective: the larger distance counts", "distances_hold_in_random_problems"),
        ("curvature_of_diagonal", "the curvature of coupled states is that of each", "distances_hold_in_random_problems"),
        ("divisors_forgotten", "a quotient or a root moves as what is divided", "distances_hold_in_every_round"),
        ("box_of_the_first", "the first member's box passes for everybody's", "members_may_differ_in_what_is_public"))),
    ("one_datum_counts", "of several data the farthest counts alone", "plan/test_distances", None,
     "families_are_weighed_by_their_own_distances"),
    ("steps_exact", "agents' steps pass for exact", "plan/test_distances", None, "families_are_weighed_by_their_own_distances"),
    ("reach_off_lattice", "rounding of states brings none further apart", "plan/test_distances", None,
     "a_distance_in_every_round_costs_as_many_times_as_there_are_rounds"),
    ("rounding_forgotten", "rounding to lattices does not count", "plan/test_forms", None,
     "no_pair_of_states_beats_the_price_of_forms"),
    ("data_below_ranges", "data below their range are used as they are", "model/test_ranges", None,
     "data_are_moved_before_anything_is_computed_from_them"),
    ("integers_pass", "states that come as integers are not moved into the box", "release/test_release", None,
     "states_go_to_the_nearest_lattice_point_of_the_box"),
    ("rows_not_kept", "blocks with noise on outputs do not enforce public sets", "release/test_public_set", None,
     "every_way_in_has_the_same_bits"),
    ("rows_unrounded", "a block's states are not on their lattice", "release/test_release_parts", None,
     "parts_have_the_bits_of_the_whole_on_any_number_of_threads"),
    ("wide_boxes_wider", "boxes of very fine lattices are a step larger", "release/test_release_parts", None,
     "all_states_at_once_are_as_one_by_one"),
    ("ahead_in_pairs", "noise drawn ahead: two rounds have the same", "release/test_ahead", None,
     "bits_are_those_of_noise_drawn_in_time"),
    ("groups_share", "groups of numbers have the noise of the first", "release/test_release_parts", None,
     "parts_have_the_bits_of_the_whole_on_any_number_of_threads"),
    ("outer_pieces_share", "constraints drawn later have the noise of the first", "release/test_release_parts", None,
     "thousands_of_constraints_have_the_bits_of_the_whole"),
    ("memory_in_the_clear", "a journal row's averages are not encrypted", "serve/test_key", None, "nothing_of_it_can_be_read"),
]


def audit(program, problem, options):
    folder = EXAMPLES if (EXAMPLES / f"{problem}.tacit").exists() else TESTS / "audit"
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


def verify(program, problem, options):
    """What the verifier says of the certificate that a program writes: (exit code, words)."""
    with tempfile.TemporaryDirectory(prefix="tacit-mutants-") as folder:
        path = f"{folder}/certificate.json"
        made = subprocess.run([str(BINARY / program), "plan", str(EXAMPLES / f"{problem}.tacit"), *options, "--certificate", path],
                              capture_output=True, text=True, timeout=1200)
        if made.returncode != 0:
            return made.returncode, "no certificate: " + made.stderr[-300:]
        said = subprocess.run([sys.executable, str(EXAMPLES / "verify/verify_plan.py"), path], capture_output=True, text=True,
                              timeout=1200)
    return said.returncode, said.stdout + said.stderr


def try_certified(mutant):
    name, _, problem, options = mutant
    code, words = verify(f"tacit_with_{name}", problem, options)
    if code != 1 or not words.startswith("no: "):
        return None, f"exit {code}: {words[-300:]}"
    code, words = verify("tacit", problem, options)
    if code != 0:
        return None, f"the verifier refuses the command as it is: {words[-300:]}"
    return "verify_plan.py", None


@functools.lru_cache(maxsize=None)
def test(name, fault, part):
    """(exit code, words) of a test of the command, or of the test in C, with a fault or as it is."""
    suffix = "" if fault is None else f"_with_{fault}"
    command = [str(BINARY / (name.replace("/", "_") + suffix))]
    if name.endswith(".py"):
        command = [sys.executable, str(TESTS / name), part]
    done = subprocess.run(command, capture_output=True, text=True, timeout=1200,
                          env={**os.environ, "TACIT": str(BINARY / f"tacit{suffix}")})
    return done.returncode, done.stdout + done.stderr


def try_tested(mutant):
    fault, _, name, part, word = mutant
    code, words = test(name, fault, part)
    if code == 0 or not re.search(rf"(FAILED  \]|FAIL:) {word}\b", words):
        return None, f"exit {code}: {words[-300:]}"
    code, words = test(name, None, part)
    if code != 0:
        return None, f"the test fails of the command as it is: {words[-300:]}"
    return f"{name}: {word}", None


def main():
    cases = sorted({(problem, options) for _, _, problem, options, _, _ in MUTANTS})
    kinds = ((MUTANTS, try_mutant), (CERTIFIED, try_certified), (TESTED, try_tested))
    mutants = [mutant for listed, _ in kinds for mutant in listed]
    names = {mutant[0] for mutant in mutants}
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        found = [result for listed, judge in kinds for result in pool.map(judge, listed)]
        honest = list(pool.map(try_honest, cases))
    wide = max(len(what) for _, what, *_ in mutants)
    print(f"{'what is wrong':{wide}}  {'problem':8}  killed by")
    survivors = 0
    for (name, what, problem, *_), (killer, why) in zip(mutants, found):
        print(f"{what:{wide}}  {'' if '/' in problem else problem:8}  {killer or 'SURVIVED'}")
        if killer is None:
            survivors += 1
            print(f"    with {name}: {why}")
    accused = 0
    for (problem, options), why in zip(cases, honest):
        if why is not None:
            accused += 1
            print(f"REFUTED WITHOUT A FAULT  {problem} {' '.join(options)}: {why}")
    print(f"{len(names)} faults in {len(mutants)} mutants: {len(mutants) - survivors} killed, {survivors} survived; "
          f"as it is, {len(cases) - accused} of {len(cases)} audits find nothing")
    return 1 if survivors or accused or len(names) < 30 else 0


if __name__ == "__main__":
    sys.exit(main())
