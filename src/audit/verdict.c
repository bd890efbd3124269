#include "audit/verdict.h"

#include "audit/price.h"

#include <string.h>

typedef struct facts {
    tc_arena *arena;
    tc_audit *audit;
    size_t left_out;        /* systems without a sample */
    uint64_t needed;        /* samples of each input for the price of some system; 0: there were enough */
    uint64_t law_needed;    /* and for the law of the noise */
    bool is_beyond_samples; /* of some system no number of samples shows half the noise */
} facts;

static bool has_fault(const tc_audit *audit, const char *const *kinds, size_t count) {
    for (size_t i = 0; i < audit->fault_count; i++)
        for (size_t k = 0; k < count; k++)
            if (strcmp(audit->faults[i].kind, kinds[k]) == 0)
                return true;
    return false;
}

/* why: what keeps it from being conclusive; NULL for nothing. */
static void add_point(tc_audit *audit, const char *name, bool is_refuted, const char *why) {
    audit->points[audit->point_count++] = (tc_audit_point){name,
                                                           is_refuted    ? TC_REFUTED
                                                           : why != NULL ? TC_INCONCLUSIVE
                                                                         : TC_NOT_REFUTED,
                                                           is_refuted ? NULL : why};
}

static const char *too_few(const facts *f, uint64_t needed) {
    return tc_arena_format(
        f->arena, "too few samples to refute even half the noise: at least %llu needed of each input (--samples %llu)",
        (unsigned long long)needed, (unsigned long long)needed);
}

/* Before any sample: of what could have been seen at all. */
static const char *why_unpriced(const facts *f) {
    for (size_t i = 0; i < f->audit->system_count; i++) {
        const tc_audit_system *s = &f->audit->systems[i];
        if (s->pair == NULL)
            return tc_arena_format(f->arena, "%s: no two inputs to compute a price of", s->name);
        if (!tc_price_would_show_half(f->audit->plan, s))
            return tc_arena_format(f->arena,
                                   "%s: the inputs that were found cost %.4g, less than half of what is claimed: noise "
                                   "at half its scale would not show",
                                   s->name, s->price);
    }
    return NULL;
}

static void judge_samples(const facts *f) {
    bool is_refuted = false;
    for (size_t i = 0; i < f->audit->system_count; i++)
        is_refuted = is_refuted || f->audit->systems[i].lower_bound > f->audit->systems[i].claimed_epsilon;
    add_point(f->audit, "samples", is_refuted,
              f->needed > 0          ? too_few(f, f->needed)
              : f->left_out > 0      ? "no sample was taken of some system"
              : f->is_beyond_samples ? "no number of samples of one round shows half the noise by its price"
                                     : NULL);
}

static void judge_first(const facts *f, const tc_fresh *fresh, double level) {
    static const char *const kinds[] = {"first round"};
    uint64_t needed = fresh == NULL ? 0 : tc_fresh_needed(fresh, level);
    add_point(f->audit, "first round", has_fault(f->audit, kinds, 1),
              fresh == NULL ? "no first round was released"
              : fresh->done < needed
                  ? tc_arena_format(f->arena,
                                    "%llu first rounds were released, and it takes %llu to notice half the noise",
                                    (unsigned long long)fresh->done, (unsigned long long)needed)
                  : NULL);
}

static const char *why_inconclusive(const facts *f, uint64_t rounds) {
    uint64_t needed = f->needed > f->law_needed ? f->needed : f->law_needed;
    if (f->audit->interrupted)
        return "it was interrupted";
    if (f->left_out > 0)
        return tc_arena_format(f->arena, "time ended before the first sample of %zu of %zu systems", f->left_out,
                               f->audit->system_count);
    if (rounds == 0)
        return "no sample was taken";
    if (needed > 0)
        return too_few(f, needed);
    /* Samples that can show nothing are made good by the computed price and the law of the noise together. */
    for (size_t i = 0; i < f->audit->point_count; i++)
        if (f->audit->points[i].verdict == TC_INCONCLUSIVE && strcmp(f->audit->points[i].name, "samples") != 0)
            return f->audit->points[i].why;
    return NULL;
}

void tc_audit_take_end_to_end(tc_audit *audit, const tc_end_to_end *found) {
    bool differs = found->differ_count > 0;
    audit->end_to_end = found;
    audit->refuted = audit->refuted || differs;
    add_point(audit, "end to end", differs, found->untested);
    if (audit->refuted) {
        audit->verdict = TC_REFUTED;
        audit->inconclusive_because = NULL;
    } else if (found->untested != NULL && audit->verdict == TC_NOT_REFUTED) {
        audit->verdict = TC_INCONCLUSIVE;
        audit->inconclusive_because = found->untested;
    }
}

void tc_audit_conclude(tc_arena *arena, const tc_whole_counts *whole, uint64_t rounds, const tc_fresh *fresh,
                       double level, tc_audit *audit) {
    static const char *const noise[] = {"lattice", "support", "noise", "law"}, *const dependence[] = {"reuse",
                                                                                                      "dependence"};
    facts f = {.arena = arena, .audit = audit};
    bool is_priced_out = false;
    uint64_t enough = tc_rounds_for_law(whole->law, level * TC_SHARE_LAW);
    f.law_needed = whole->law->rounds < enough ? (enough + 1) / 2 : 0;
    for (size_t i = 0; i < audit->system_count; i++) {
        const tc_audit_system *s = &audit->systems[i];
        f.left_out += s->left_out;
        is_priced_out = is_priced_out || s->priced_out;
        f.needed = s->needed > f.needed ? s->needed : f.needed;
        f.is_beyond_samples = f.is_beyond_samples || (s->verdict == TC_INCONCLUSIVE && s->needed == 0);
    }
    const char *few = f.law_needed > 0 ? too_few(&f, f.law_needed) : NULL;
    add_point(audit, "price", is_priced_out, why_unpriced(&f));
    judge_samples(&f);
    add_point(audit, "noise", has_fault(audit, noise, 4), few);
    add_point(audit, "independence", has_fault(audit, dependence, 2), few);
    judge_first(&f, fresh, level * TC_SHARE_FIRST);
    audit->inconclusive_because = audit->refuted ? NULL : why_inconclusive(&f, rounds);
    audit->verdict = audit->refuted                        ? TC_REFUTED
                     : audit->inconclusive_because != NULL ? TC_INCONCLUSIVE
                                                           : TC_NOT_REFUTED;
}
