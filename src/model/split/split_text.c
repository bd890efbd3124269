/* Statements and values as text that reads back to the same. */
#include "base/json.h"
#include "model/split/split_parts.h"

#include <math.h>
#include <string.h>

bool tc_is_identifier(const char *text) {
    for (const char *c = text; *c != '\0'; c++) {
        bool letter = (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || *c == '_';
        if (!letter && (c == text || *c < '0' || *c > '9'))
            return false;
    }
    return text[0] != '\0' && strcmp(text, "in") != 0;
}

void tc_write_statement(tc_buffer *out, const tc_source *source, tc_span span) {
    tc_source part = {source->path, source->text + span.offset, span.length};
    tc_buffer nowhere = tc_buffer_new(out->arena, 1 << 20);
    tc_diagnostics diagnostics = {out->arena, &part, &nowhere, 0};
    tc_lexer lexer = tc_lexer_new(&diagnostics);
    tc_token_kind before = TC_TOKEN_OPEN_BRACE;
    size_t end = 0;
    bool pending = false; /* a separator that matters only if something follows */
    for (tc_token token; (token = tc_lexer_next(&lexer)).kind != TC_TOKEN_END; before = token.kind) {
        if (token.kind == TC_TOKEN_NEWLINE) {
            pending = pending || before != TC_TOKEN_OPEN_BRACE;
            token.kind = pending ? TC_TOKEN_NEWLINE : before;
            continue;
        }
        if (pending && token.kind != TC_TOKEN_CLOSE_BRACE)
            tc_buffer_puts(out, ";");
        pending = false;
        if (token.span.offset > end && end > 0)
            tc_buffer_puts(out, " ");
        tc_buffer_add(out, part.text + token.span.offset, token.span.length);
        end = token.span.offset + token.span.length;
    }
    tc_buffer_puts(out, "\n");
}

void tc_write_number(tc_buffer *out, double number) {
    char text[32];
    tc_shortest_number(text, number);
    tc_buffer_puts(out, text);
}

static void write_row(tc_buffer *out, const double *numbers, size_t count) {
    tc_buffer_puts(out, "[");
    for (size_t i = 0; i < count; i++) {
        if (i > 0)
            tc_buffer_puts(out, ", ");
        tc_write_number(out, numbers[i]);
    }
    tc_buffer_puts(out, "]");
}

void tc_write_value(tc_buffer *out, const tc_value *value) {
    if (value->rank == 0) {
        tc_write_number(out, value->number);
    } else if (value->rank == 1) {
        write_row(out, value->numbers, value->rows);
    } else {
        tc_buffer_puts(out, "[");
        for (size_t i = 0; i < value->rows; i++) {
            if (i > 0)
                tc_buffer_puts(out, ",\n  ");
            write_row(out, value->numbers + i * value->columns, value->columns);
        }
        tc_buffer_puts(out, "]");
    }
}

void tc_write_param(tc_buffer *out, const tc_definition *definition) {
    tc_buffer_printf(out, "%sparam %s = ", definition->statement->is_private ? "private " : "", definition->name->text);
    tc_write_value(out, &definition->value);
    tc_buffer_puts(out, "\n");
}
