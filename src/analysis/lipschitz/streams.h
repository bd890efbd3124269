/* The Jacobian of g, column by column, as intervals: over the public box, or at a point.
 *
 * g = Phi(u), u = (inner sums, single coordinates), so for component c of member k of a family
 *     J_jc = sum over bodies r of the family  Phi_{j,r} d body_r / d x_c   +   Phi_{j, this coordinate},
 * and columns are made from two small tables, Phi's partial derivatives (once) and the bodies' (64 members at a time),
 * never from a stored matrix. Members that are alike over the box are visited once, with a weight. */
#ifndef TC_ANALYSIS_LIPSCHITZ_STREAMS_H
#define TC_ANALYSIS_LIPSCHITZ_STREAMS_H

#include "analysis/region.h"
#include "base/status.h"
#include "calculus/derivatives.h"
#include "model/parcel.h"

typedef struct tc_singled { /* a coordinate that outer expressions name */
    size_t member;
    uint32_t component, input;
} tc_singled;

typedef struct tc_term { /* Phi_{j,r} * d body_r / d x_c */
    uint32_t component, row;
    uint32_t first; /* in body_first */
    uint32_t outer; /* in outer_first */
} tc_term;

typedef struct tc_partial_link { /* a second derivative seen from one of its two variables */
    uint32_t second;
    uint32_t other;
} tc_partial_link;

typedef struct tc_partial_links { /* links of entry i: link[start[i]] .. link[start[i + 1] - 1] */
    size_t *start;
    tc_partial_link *link;
} tc_partial_links;

typedef struct tc_family_stream {
    const tc_family *family;
    const tc_family_derivatives *derivatives;
    bool alike; /* bodies and box are the same for all members */
    tc_tape *values_tape, *first_tape, *second_tape;
    tc_tape **single;          /* per body_first: a tape of its own where endpoints may tighten it, else NULL */
    tc_partial_links partials; /* per body_first: its derivatives, in body_second; other: the component */
    tc_term *terms;            /* sorted by component, then row */
    size_t term_count;
    size_t *term_start;  /* by component: dim + 1 */
    tc_singled *singled; /* sorted by member, then component */
    size_t singled_count, singled_members;
    tc_batch *batch;
    tc_interval *work;
    tc_interval *values, *first, *second; /* [index * TC_LANES + lane] of the current batch */
    tc_interval **values_out, **first_out, **second_out;
} tc_family_stream;

typedef struct tc_streams {
    tc_arena *arena;
    const tc_model *model;
    const tc_derivatives *derivatives;
    const tc_monitor *monitor;
    tc_family_stream *families;
    bool curved; /* some second derivative of an outer function is not zero by structure */
    bool has_coords;
    tc_tape *first_tape, *second_tape; /* of outer functions */
    tc_tape **single;
    tc_partial_links partials; /* per outer_first, in outer_second; other: the input */
    size_t *input_start;       /* CSR: outer_first entries by input */
    uint32_t *by_input;
    tc_interval *sums, *coords, *work;
    tc_interval *first, *second; /* current enclosures of outer derivatives */
    tc_interval **first_out, **second_out;
    uint32_t *column_rows, *stamp, *slot;
    tc_interval *column_values;
    uint32_t stamp_now;
    double *pulls, *input_pulls; /* while a vertex is guessed; NULL otherwise */
} tc_streams;

typedef struct tc_column_view {
    const tc_family *family;
    size_t member, component;
    double weight;
    size_t count;
    const uint32_t *rows; /* distinct, in no particular order */
    const tc_interval *values;
} tc_column_view;
typedef void (*tc_column_sink)(void *context, const tc_column_view *column);

tc_streams *tc_streams_new(tc_arena *arena, const tc_model *model, const tc_derivatives *derivatives,
                           const tc_monitor *monitor);

/* Evaluates the outer derivatives over the box, or at x; then columns may be streamed for the same place. */
void tc_streams_outer_box(tc_streams *streams);
void tc_streams_outer_point(tc_streams *streams, const double *x);

/* All columns of J; x NULL for the box. False when interrupted. pack: all that the sink adds to, which goes from rank
 * to rank where members of a spread family are taken one by one (model/parcel.h); NULL: no such family may be here. */
bool tc_streams_columns(tc_streams *streams, const double *x, tc_column_sink sink, tc_packing pack, void *context);
/* Over the box, each member by itself. */
bool tc_streams_all_columns(tc_streams *streams, tc_column_sink sink, tc_packing pack, void *context);

/* Over the box: for each coordinate, a number whose sign says at which end of its range the entries of J are largest
 * in magnitude; the vertex so guessed goes to x. */
void tc_guess_vertex(tc_streams *streams, double *x);
/* Another guess, in which coordinates that outer functions name follow each other where pulls tie; changes x. */
void tc_guess_other_vertex(tc_streams *streams, double *x);

/* Members of a family, batch by batch; cursor starts at 0, false at the end. grouped: alike members once. Evaluates
 * the first and second derivatives of the bodies over the box (tightened) or at x. */
bool tc_streams_next(tc_streams *streams, size_t family, size_t *cursor, bool grouped, const double *x, bool second);

/* The same for one member, in lane 0. */
void tc_streams_member(tc_streams *streams, size_t family, size_t member, const double *x);

/* Bodies' values summed: an enclosure of sum r over the box or at x. */
void tc_streams_sums(tc_streams *streams, const double *x, tc_interval *sums);

/* Enclosures of all g_j(x), and of all g_j on the box between two points. */
void tc_constraint_values(tc_streams *streams, const double *x, tc_interval *g);
void tc_constraint_ranges(tc_streams *streams, const double *lower, const double *upper, tc_interval *g);

/* Column (member of lane, component) into column_rows and column_values; returns how many entries. */
size_t tc_build_column(tc_streams *streams, const tc_family_stream *stream, size_t lane, size_t component,
                       const tc_singled *singled, size_t singled_count);
/* The first member that no outer expression names; count where all are named. */
size_t tc_plain_member(const tc_family_stream *stream);
/* The singled coordinates of a member: first one, and how many. */
const tc_singled *tc_singled_of(const tc_family_stream *stream, size_t member, size_t *count);

/* Each variable occurs at most once, so that the natural enclosure is the exact range. */
bool tc_read_once(const tc_dag *dag, tc_expr e);

#endif
