#include "analysis/page.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_DIGITS = 7, ALL_DIGITS = 17 };

size_t tc_text_width(const char *text, size_t length) {
    size_t width = 0;
    for (size_t i = 0; i < length; i++)
        width += ((unsigned char)text[i] & 0xc0) != 0x80; /* bytes that continue a character have none */
    return width;
}

void tc_page_wrap(tc_page *p, const char *text, size_t indent, size_t column) {
    while (*text != '\0') {
        size_t length = strcspn(text, " "), width = tc_text_width(text, length);
        if (column > indent && column + 1 + width > p->width) {
            tc_buffer_printf(p->out, "\n%*s", (int)indent, "");
            column = indent;
        } else if (column > indent) {
            tc_buffer_puts(p->out, " ");
            column++;
        }
        tc_buffer_add(p->out, text, length);
        column += width;
        text += length;
        text += strspn(text, " ");
    }
    tc_buffer_puts(p->out, "\n");
}

void tc_page_paragraph(tc_page *p, size_t indent, const char *text) {
    tc_buffer_printf(p->out, "%*s", (int)indent, "");
    tc_page_wrap(p, text, indent, indent);
}

void tc_page_line(tc_page *p, const char *name, const char *const cells[3]) {
    size_t column = 2 + tc_text_width(name, strlen(name)), place = 2 + TC_NAME_WIDTH + 1;
    tc_buffer_printf(p->out, "  %s", name);
    for (int i = 0; i < 3; i++, place += TC_CELL_WIDTH + 1) {
        if (cells[i][0] == '\0')
            continue;
        size_t gap = column < place ? place - column : 1;
        tc_buffer_printf(p->out, "%*s%s", (int)gap, "", cells[i]);
        column += gap + strlen(cells[i]);
    }
    tc_buffer_puts(p->out, "\n");
}

/* ---- numbers ---- */

static bool is_beyond(const char *text, double value, int direction) {
    double back = strtod(text, NULL);
    return direction == 0 || (direction > 0 ? back >= value : back <= value);
}

const char *tc_shown(char text[32], double value, int direction, int digits) {
    if (!isfinite(value))
        return value > 0 ? "unbounded" : "-";
    value = value == 0 ? 0 : value; /* not -0 */
    for (; digits <= ALL_DIGITS; digits++) {
        (void)snprintf(text, 32, "%.*g", digits, value);
        if (is_beyond(text, value, direction))
            break;
        /* half a unit of the last digit further */
        double unit = pow(10, floor(log10(fabs(value))) - digits + 1);
        (void)snprintf(text, 32, "%.*g", digits, value + direction * 0.5 * unit);
        if (is_beyond(text, value, direction))
            break;
    }
    return text;
}

const char *tc_shown_bracket(char text[80], const tc_bracket *b) {
    char lower[32], upper[32];
    bool one = b->upper <= b->lower * (1 + 1e-9) || b->upper == b->lower;
    for (int digits = MOST_DIGITS; digits > 0; digits--) {
        if (one)
            (void)snprintf(text, 80, "%s", tc_shown(upper, b->upper, 0, digits));
        else
            (void)snprintf(text, 80, "[%s, %s]", tc_shown(lower, b->lower, -1, digits),
                           tc_shown(upper, b->upper, 1, digits));
        if (strlen(text) <= TC_CELL_WIDTH)
            break;
    }
    return text;
}

const char *tc_shown_declared(char text[80], const tc_bracket *b) {
    char number[32];
    text[0] = '\0';
    for (int digits = MOST_DIGITS; tc_declared(b) && digits > 2; digits--) {
        (void)snprintf(text, 80, "%s %s", tc_shown(number, b->declared, 0, digits),
                       tc_declared_too_small(b)     ? "TOO SMALL"
                       : tc_declared_uncertified(b) ? "uncertified"
                                                    : "ok");
        if (strlen(text) <= TC_CELL_WIDTH)
            break;
    }
    return text;
}
