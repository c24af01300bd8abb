/* Formulas of rows as steps of plain arithmetic, and the sums of what comes out over (code, place).
 *
 * Every step is done for a strip of rows before the next one begins, so that what lies between them never leaves the nearest cache. All
 * numbers are doubles; conditions are 0 and 1. Steps round as NumPy's do and rows are added in their order, so that the NumPy twin
 * (sources/passing.py) gives the same bits, but for sums over all rows, whose order differs.
 */
#include <math.h>
#include <stddef.h>
#include <stdint.h>

#define STRIP 128 /* rows */
#define MOST 64   /* columns of one table */
#define LANES 8   /* sums over all rows are taken side by side */
#define COUNTED 64 /* edges */

typedef double four __attribute__((vector_size(32), aligned(8), may_alias));

#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && defined(__gnu_linux__)
#define CLONES __attribute__((target_clones("avx2", "default")))
#else
#define CLONES
#endif

/* In the order of `Code` in steps/symbols.py. */
enum { COLUMN4, COLUMN8, OF_LINE, LOOK_UP, PLACE, PLACE_AT, ADD, SUBTRACT, MULTIPLY, DIVIDE, LARGER, SMALLER, LESS, AT_MOST, EQUAL, CHOOSE, SIZE };

/* What is done, the strip that holds the answer, and those that are asked; of tables and columns their number. */
typedef struct {
    int32_t code, out, a, b, c;
} step;

/* A table of sums: the columns by their strips, the strip that says at which place (or none, below 0), and the groups by parts of codes. */
typedef struct {
    int32_t place, width, stride, parts, whole;
    const int32_t *columns, *whole_columns, *sizes; /* of a code in bytes; 0 where it is the line itself */
    const void *const *codes;                       /* of every line */
    double *const *sums;                            /* (code, place, stride) */
    double *whole_sums;                             /* (whole, LANES) */
    size_t places;
} table;

typedef struct {
    const step *steps;
    const double *const *tables;
    const size_t *sizes;
    size_t count;
} program;

/* How many edges lie below each value, or at it where these count too. A few are counted, many are searched. */
static inline __attribute__((always_inline)) void place(const double *edges, size_t count, const double *values, size_t rows, int at,
                                                        double *restrict out)
{
    if (count <= COUNTED) {
        for (size_t i = 0; i < rows; i++)
            out[i] = 0.0;
        for (size_t k = 0; k < count; k++)
            for (size_t i = 0; i < rows; i++)
                out[i] += (at ? edges[k] <= values[i] : edges[k] < values[i]) ? 1.0 : 0.0;
        return;
    }
    for (size_t i = 0; i < rows; i++) {
        size_t first = 0, left = count;
        while (left > 0) {
            size_t half = left / 2;
            int further = at ? edges[first + half] <= values[i] : edges[first + half] < values[i];
            first += further ? half + 1 : 0;
            left = further ? left - half - 1 : half;
        }
        out[i] = (double)first;
    }
}

#define EACH(answer)                                                                                                                \
    for (size_t i = 0; i < rows; i++)                                                                                               \
        out[i] = (answer);                                                                                                          \
    break

static inline __attribute__((always_inline)) void run(const program *what, double *room, const void *const *columns,
                                                      const uint32_t *line, size_t rows)
{
    for (size_t k = 0; k < what->count; k++) {
        const step *s = &what->steps[k];
        double *restrict out = room + STRIP * s->out;
        const double *a = room + STRIP * s->a, *b = room + STRIP * s->b, *c = room + STRIP * s->c;
        switch (s->code) {
        case COLUMN4: EACH(((const float *)columns[s->a])[i]);
        case COLUMN8: EACH(((const double *)columns[s->a])[i]);
        case OF_LINE: EACH(what->tables[s->a][line[i]]);
        case LOOK_UP: EACH(what->tables[s->b][(size_t)a[i]]);
        case PLACE: place(what->tables[s->b], what->sizes[s->b], a, rows, 0, out); break;
        case PLACE_AT: place(what->tables[s->b], what->sizes[s->b], a, rows, 1, out); break;
        case ADD: EACH(a[i] + b[i]);
        case SUBTRACT: EACH(a[i] - b[i]);
        case MULTIPLY: EACH(a[i] * b[i]);
        case DIVIDE: EACH(a[i] / b[i]);
        case LARGER: EACH(a[i] >= b[i] || a[i] != a[i] ? a[i] : b[i]);
        case SMALLER: EACH(a[i] <= b[i] || a[i] != a[i] ? a[i] : b[i]);
        case LESS: EACH(a[i] < b[i] ? 1.0 : 0.0);
        case AT_MOST: EACH(a[i] <= b[i] ? 1.0 : 0.0);
        case EQUAL: EACH(a[i] == b[i] ? 1.0 : 0.0);
        case CHOOSE: EACH(a[i] != 0.0 ? b[i] : c[i]);
        case SIZE: EACH(fabs(a[i]));
        }
    }
}

#define ADD_ROWS(type, code)                                                                                                        \
    for (size_t i = 0; i < rows; i++) {                                                                                             \
        double *cell = sums + stride * ((size_t)(code) * to->places + at[i]);                                                       \
        const double *row = side + stride * i;                                                                                      \
        for (size_t k = 0; k < stride; k += 4)                                                                                      \
            *(four *)(cell + k) += *(const four *)(row + k);                                                                        \
    }

static inline __attribute__((always_inline)) void add(const table *to, const double *room, const uint32_t *line, size_t rows)
{
    double side[STRIP * MOST];
    uint32_t at[STRIP];
    size_t stride = (size_t)to->stride;
    for (size_t k = 0; k < stride; k++) {
        const double *column = room + STRIP * to->columns[k < (size_t)to->width ? k : 0];
        for (size_t i = 0; i < rows; i++)
            side[stride * i + k] = k < (size_t)to->width ? column[i] : 0.0;
    }
    const double *place = room + STRIP * (to->place < 0 ? 0 : to->place);
    for (size_t i = 0; i < rows; i++)
        at[i] = to->place < 0 ? 0 : (uint32_t)place[i];
    for (int32_t p = 0; p < to->parts; p++) {
        double *sums = to->sums[p];
        switch (to->sizes[p]) {
        case 0: ADD_ROWS(uint32_t, line[i]) break;
        case 1: ADD_ROWS(uint8_t, ((const uint8_t *)to->codes[p])[line[i]]) break;
        case 2: ADD_ROWS(uint16_t, ((const uint16_t *)to->codes[p])[line[i]]) break;
        default: ADD_ROWS(uint32_t, ((const uint32_t *)to->codes[p])[line[i]]) break;
        }
    }
    for (int32_t k = 0; k < to->whole; k++) {
        const double *column = room + STRIP * to->whole_columns[k];
        double *sums = to->whole_sums + LANES * k;
        size_t i = 0;
        for (; i + LANES <= rows; i += LANES)
            for (size_t j = 0; j < LANES; j++)
                sums[j] += column[i + j];
        for (size_t j = 0; i + j < rows; j++)
            sums[j] += column[i + j];
    }
}

/* All rows, strip by strip: the steps, answers copied to `outs`, and answers added to `to`. The first strips of `room` hold constants.
 * `columns` begin with their first row; those of four bytes are marked in `short_columns`. */
CLONES void multivalid_run_steps(const program *what, double *room, const void *const *columns, const uint8_t *short_columns,
                                 size_t column_count, const uint32_t *line, size_t rows, const int32_t *answers, double *const *outs,
                                 size_t out_count, const table *to, size_t table_count)
{
    const void *here[MOST];
    for (size_t start = 0; start < rows; start += STRIP) {
        size_t count = rows - start < STRIP ? rows - start : STRIP;
        for (size_t k = 0; k < column_count; k++)
            here[k] = (const char *)columns[k] + (short_columns[k] ? 4 : 8) * start;
        run(what, room, here, line + start, count);
        for (size_t k = 0; k < out_count; k++)
            for (size_t i = 0; i < count; i++)
                outs[k][start + i] = room[STRIP * answers[k] + i];
        for (size_t k = 0; k < table_count; k++)
            add(&to[k], room, line + start, count);
    }
}
