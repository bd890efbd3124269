#include "report/html.h"

#include "base/json.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* U+FFFE and U+FFFF are no characters of XML. */
static bool is_noncharacter(const char *text, size_t length) {
    return length == 3 && memcmp(text, "\xef\xbf", 2) == 0 && (unsigned char)text[2] >= 0xbe;
}

/* One character; how many bytes it was. */
static size_t put_character(tc_buffer *out, const char *text) {
    unsigned char byte = (unsigned char)*text;
    size_t length = tc_utf8_length(text);
    if (length == 0 || byte == 0x7f || (byte < 0x20 && byte != '\n' && byte != '\t') || is_noncharacter(text, length)) {
        tc_buffer_puts(out, "\xef\xbf\xbd");
        return length == 0 ? 1 : length;
    }
    if (byte == '&')
        tc_buffer_puts(out, "&amp;");
    else if (byte == '<')
        tc_buffer_puts(out, "&lt;");
    else if (byte == '>')
        tc_buffer_puts(out, "&gt;");
    else if (byte == '"')
        tc_buffer_puts(out, "&quot;");
    else if (byte == '\'')
        tc_buffer_puts(out, "&#39;");
    else
        tc_buffer_add(out, text, length);
    return length;
}

void tc_put_text(tc_buffer *out, const char *text) { tc_put_short_text(out, text, SIZE_MAX); }

size_t tc_text_characters(const char *text) {
    size_t count = 0;
    for (; *text != '\0'; count++) {
        size_t length = tc_utf8_length(text);
        text += length == 0 ? 1 : length;
    }
    return count;
}

void tc_put_short_text(tc_buffer *out, const char *text, size_t most) {
    bool fits = most == SIZE_MAX || tc_text_characters(text) <= most;
    for (size_t count = 0; *text != '\0' && (fits || count + 1 < most); count++)
        text += put_character(out, text);
    if (!fits)
        tc_buffer_puts(out, "\xe2\x80\xa6");
}

void tc_put_grouped(tc_buffer *out, const char *number) {
    if (*number == '-') {
        tc_buffer_puts(out, TC_MINUS);
        number++;
    }
    size_t whole = strspn(number, "0123456789");
    for (size_t i = 0; i < whole; i++) {
        if (i > 0 && (whole - i) % 3 == 0 && whole > 3)
            tc_buffer_puts(out, ",");
        tc_buffer_add(out, number + i, 1);
    }
    tc_buffer_puts(out, number + whole);
}

void tc_put_number(tc_buffer *out, double value, int digits) {
    char text[64];
    double size = fabs(value);
    if (!isfinite(value)) {
        tc_buffer_puts(out, TC_DASH);
        return;
    }
    if (size != 0 && (size < 1e-4 || size >= 1e9)) {
        (void)snprintf(text, sizeof text, "%.*e", digits - 1, value);
        char *exponent = strchr(text, 'e');
        int power = exponent != NULL ? atoi(exponent + 1) : 0;
        if (exponent != NULL)
            *exponent = '\0';
        tc_put_grouped(out, text);
        tc_buffer_printf(out, "e%s%d", power < 0 ? TC_MINUS : "", abs(power));
        return;
    }
    int whole = size >= 1 ? (int)floor(log10(size)) + 1 : size > 0 ? (int)floor(log10(size)) + 1 : 1;
    int decimals = digits - whole > 0 ? digits - whole : 0;
    bool is_whole = value == floor(value) && size < 1e9;
    (void)snprintf(text, sizeof text, "%.*f", is_whole ? 0 : decimals, value);
    tc_put_grouped(out, text);
}

/* ---- the style sheet ---- */

/* --c0 .. --c5 follow Okabe and Ito's palette, darkened or lightened until each is 3:1 or more against its paper; text
 * is 4.5:1 or more. A test computes both. */
#define LIGHT                                                                                                          \
    "--paper:#ffffff;--panel:#f5f7f9;--ink:#1a1e23;--muted:#525c66;--rule:#d3dae0;--warn:#9a2c00;"                     \
    "--c0:#0072b2;--c1:#c24e00;--c2:#008061;--c3:#a8467f;--c4:#8a6d00;--c5:#3d4650;"
#define DARK                                                                                                           \
    "--paper:#12161b;--panel:#1a2027;--ink:#e7ebef;--muted:#a9b4be;--rule:#37414b;--warn:#ffa273;"                     \
    "--c0:#56b4e9;--c1:#f0894a;--c2:#2fc69a;--c3:#e08fbd;--c4:#f0e442;--c5:#c3ccd4;"

const char *const tc_report_style[] = {
    ":root{color-scheme:light dark;" LIGHT "}\n",
    "@media (prefers-color-scheme:dark){:root{" DARK "}}\n",
    "@media print{:root{" LIGHT "}}\n",
    "*{box-sizing:border-box}\n",
    "html{-webkit-text-size-adjust:100%;text-size-adjust:100%}\n",
    "body{margin:0;background:var(--paper);color:var(--ink);"
    "font:16px/1.55 system-ui,-apple-system,'Segoe UI',Roboto,'Noto Sans','DejaVu Sans',sans-serif}\n",
    "header,main,footer{max-width:1160px;margin:0 auto;padding:0 24px}\n",
    "header{padding-top:40px}\n",
    "footer{margin-top:56px;padding-top:14px;padding-bottom:40px;border-top:1px solid var(--rule);color:var(--muted);"
    "font-size:14px}\n",
    "h1{font-size:32px;line-height:1.2;margin:0 0 10px;letter-spacing:-.01em;overflow-wrap:anywhere}\n",
    "h2{font-size:24px;line-height:1.25;margin:56px 0 12px;padding-top:16px;border-top:2px solid var(--ink);"
    "overflow-wrap:anywhere}\n",
    "h3{font-size:18px;margin:36px 0 8px}\n",
    "p,ul{max-width:46em;margin:8px 0}\n",
    ".lead{font-size:18px;color:var(--muted)}\n",
    "a{color:var(--c0)}\n",
    "nav ul{padding-left:20px}\n",
    ".promise{max-width:none;padding:10px 14px;border-left:4px solid var(--c2);background:var(--panel)}\n",
    ".promise.no{border-left-color:var(--warn)}\n",
    ".promise strong{letter-spacing:.02em}\n",
    ".verdict{max-width:none;font-size:20px;line-height:1.4;font-weight:600;padding:14px 18px;margin:14px 0;"
    "border-left:6px solid var(--c2);background:var(--panel)}\n",
    ".verdict.no{border-left-color:var(--warn)}\n",
    ".overview{display:grid;grid-template-columns:minmax(0,3fr) minmax(0,2fr);gap:8px 40px;align-items:start}\n",
    ".words{margin:14px 0;font-size:15px}.words div{padding:6px 0;border-bottom:1px solid var(--rule)}"
    ".words dt{color:var(--muted);font-size:13px}.words dd{margin:0;overflow-wrap:anywhere}\n",
    ".results{width:100%}.results tr.answer>*{font-weight:600}.results td.bar{min-width:7.5em}"
    ".results tbody th,.results tbody td{vertical-align:top;padding-top:7px;padding-bottom:7px;white-space:normal}\n",
    ".results td small{font-weight:400}.track{display:block;height:7px;margin:5px 0 3px;background:var(--panel)}.track "
    "span{display:block;height:7px;"
    "min-width:1px}.track .own{background:var(--c0)}.track .other{background:var(--muted)}\n",
    "@media (max-width:860px){.overview{grid-template-columns:minmax(0,1fr)}.verdict{font-size:18px}}\n",
    ".note{color:var(--muted);font-size:15px}\n",
    ".note strong{color:var(--warn)}\n",
    ".facts{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,300px),1fr));gap:4px 28px;margin:18px "
    "0;"
    "font-size:15px}\n",
    ".facts div{display:flex;justify-content:space-between;gap:12px;border-bottom:1px solid var(--rule);"
    "padding:3px 0}\n",
    ".facts dt{color:var(--muted)}\n",
    ".facts dd{margin:0;text-align:right;overflow-wrap:anywhere}\n",
    ".figures{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,420px),1fr));gap:28px 40px;"
    "margin:20px 0}\n",
    "figure{margin:0;min-width:0;max-width:640px;break-inside:avoid;display:flex;flex-direction:column}\n",
    "figcaption{margin-bottom:6px;font-size:15px;line-height:1.4;color:var(--muted)}\n",
    "figcaption strong{color:var(--ink)}\n",
    ".scroll{overflow-x:auto;margin:14px 0}\n",
    "table{border-collapse:collapse;font-size:15px;font-variant-numeric:tabular-nums lining-nums}\n",
    "caption{text-align:left;font-size:15px;color:var(--muted);padding-bottom:6px}\n",
    "caption strong{color:var(--ink)}\n",
    "th,td{padding:5px 14px 5px 0;text-align:right;white-space:nowrap;border-bottom:1px solid var(--rule)}\n",
    "th:first-child,td:first-child,th.text,td.text{text-align:left}\n",
    "thead th{white-space:normal;border-bottom:1.5px solid var(--ink);font-weight:600;vertical-align:bottom}\n",
    "tbody th{font-weight:400}\n",
    "tbody th.group{font-weight:600;vertical-align:top}tbody th.number{text-align:right}\n",
    "tbody th.run{white-space:normal;min-width:11em}tbody "
    "th.pair{white-space:normal;min-width:min(44vw,24em);max-width:30em;vertical-align:top}\n",
    "tbody tr.first>*{border-top:1px solid var(--muted)}\n",
    "td small,th small{color:var(--muted);font-size:13px}\n",
    "td.key{font-weight:600}\n",
    "td.out{color:var(--warn);font-weight:600}\n",
    "pre{overflow-x:auto;background:var(--panel);padding:12px 14px;margin:12px 0;font:13px/1.45 ui-monospace,"
    "SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace}\n",
    "pre.command{white-space:pre-wrap;overflow-wrap:anywhere}\n",
    ".plot{display:block;width:100%;height:auto;font-size:12.5px}\n",
    ".plot text{fill:var(--ink)}\n",
    ".plot .ticks text{fill:var(--muted)}\n",
    ".plot .ticks.y text,.plot .ticks text.end{text-anchor:end}\n",
    ".plot .ticks.x text{text-anchor:middle}\n",
    ".plot .ticks.x text.end{text-anchor:end}\n",
    ".plot .sup{font-size:9px}\n",
    ".plot text.title{font-weight:600}\n",
    ".plot text.title.x{text-anchor:middle;font-weight:400}\n",
    ".grid{stroke:var(--rule);stroke-width:.8;fill:none}\n",
    ".axis{stroke:var(--muted);stroke-width:1;fill:none}\n",
    ".line{fill:none;stroke:currentColor;stroke-width:1.9;stroke-linejoin:round}\n",
    ".thin{fill:none;stroke:currentColor;stroke-width:.8;opacity:.8}\n",
    ".band{fill:currentColor;opacity:.2}\n",
    ".mark{fill:currentColor;stroke:var(--paper);stroke-width:.9}\n",
    ".star{fill:currentColor;stroke:var(--ink);stroke-width:1.1;paint-order:stroke}\n",
    ".ref{fill:none;stroke:var(--ink);stroke-width:1.2}\n",
    ".r0{stroke-dasharray:7 3}.r1{stroke-dasharray:1.5 3}\n",
    "path.level{stroke:var(--ink);stroke-width:1.1;stroke-dasharray:3 3;fill:none}\n",
    ".plot text.level{font-size:11.5px;paint-order:stroke;stroke:var(--paper);stroke-width:3px}\n",
    ".s0{color:var(--c0)}.s1{color:var(--c1)}.s2{color:var(--c2)}.s3{color:var(--c3)}.s4{color:var(--c4)}"
    ".s5{color:var(--c5)}\n",
    ".line.s1{stroke-dasharray:9 3}.line.s2{stroke-dasharray:3 2.5}.line.s3{stroke-dasharray:11 3 2.5 3}"
    ".line.s4{stroke-dasharray:6 2 1.5 2 1.5 2}.line.s5{stroke-dasharray:15 4}\n",
    ".mark.s5{fill:none;stroke:currentColor;stroke-width:2}\n",
    "@media (max-width:560px){header,main,footer{padding-left:14px;padding-right:14px}header{padding-top:24px}"
    "h1{font-size:26px}h2{font-size:21px;margin-top:44px}.lead{font-size:17px}.plot{font-size:13.5px}}\n",
    "@page{margin:14mm}\n",
    "@media print{body{font-size:10pt}header,main,footer{max-width:none;padding:0}header{padding-top:0}"
    "nav{display:none}h1{font-size:20pt}h2{font-size:15pt;margin-top:24pt;break-after:avoid}"
    "h3{font-size:12pt;margin-top:16pt;break-after:avoid}.figures{grid-template-columns:1fr 1fr;gap:14pt 18pt}"
    "figcaption,caption,table,.facts,.note{font-size:9pt}th,td{padding:2pt 8pt 2pt 0}tr,.scroll{break-inside:avoid}"
    ".scroll,pre{overflow:visible}pre{font-size:7.5pt;padding:6pt 8pt;white-space:pre-wrap}.promise,pre,.band,.mark,"
    ".star{print-color-adjust:exact;-webkit-print-color-adjust:exact}}\n",
    NULL,
};
