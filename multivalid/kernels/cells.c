/* Sums of several columns over (code, place): the table that audits and fits read.
 *
 * Rows are added in their order, so that the NumPy twin (cells/tabulate.py) gives the same bits.
 */
#include <stddef.h>
#include <stdint.h>

#define BLOCK 128 /* rows whose columns are put side by side at a time: they stay in the nearest cache */
#define MOST 32   /* columns that one call takes */

#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && defined(__gnu_linux__)
#define CLONES __attribute__((target_clones("avx2", "default")))
#else
#define CLONES
#endif

/* `columns` are `width` terms of the rows, each with the step from row to row (0 where all rows have the same); `table` has `stride` sums,
 * whole fours, for each (code, place), `places` of them per code, and the sums of these columns are the first of them. */
#define ADD(name, type)                                                                                                             \
    CLONES void name(const type *codes, const int64_t *place, size_t rows, size_t places, const double *const *columns,             \
                     const size_t *step, size_t width, size_t stride, double *restrict table)                                       \
    {                                                                                                                               \
        double side[BLOCK * MOST];                                                                                                  \
        size_t wide = (width + 3) / 4 * 4; /* whole fours: a row is added in a few instructions */                                  \
        for (size_t k = width; k < wide; k++)                                                                                       \
            for (size_t i = 0; i < BLOCK; i++)                                                                                      \
                side[wide * i + k] = 0.0;                                                                                           \
        for (size_t start = 0; start < rows; start += BLOCK) {                                                                      \
            size_t count = rows - start < BLOCK ? rows - start : BLOCK;                                                             \
            for (size_t k = 0; k < width; k++) {                                                                                    \
                size_t by = step[k];                                                                                                \
                const double *column = columns[k] + by * start;                                                                     \
                for (size_t i = 0; i < count; i++)                                                                                  \
                    side[wide * i + k] = column[by * i];                                                                            \
            }                                                                                                                       \
            for (size_t i = 0; i < count; i++) {                                                                                    \
                double *cell = table + stride * ((size_t)codes[start + i] * places + (size_t)place[start + i]);                     \
                const double *row = side + wide * i;                                                                                \
                for (size_t k = 0; k < wide; k += 4)                                                                                \
                    for (size_t j = k; j < k + 4; j++)                                                                              \
                        cell[j] += row[j];                                                                                          \
            }                                                                                                                       \
        }                                                                                                                           \
    }

ADD(multivalid_add_cells_1, uint8_t)
ADD(multivalid_add_cells_2, uint16_t)
ADD(multivalid_add_cells_4, uint32_t)
