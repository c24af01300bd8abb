/* Sums of several columns over (code, place): the table that audits and fits read.
 *
 * Rows are added in their order, so that the NumPy twin (cells/tabulate.py) gives the same bits.
 */
#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && defined(__gnu_linux__)
#define CLONES __attribute__((target_clones("avx2", "default")))
#else
#define CLONES
#endif

/* `terms` has the `width` terms of a row side by side, `table` as many sums for each (code, place), `places` of them per code. */
#define ADD(name, type)                                                                                                             \
    CLONES void name(const type *codes, const int64_t *place, size_t rows, size_t places, const double *restrict terms,             \
                     size_t width, double *restrict table)                                                                          \
    {                                                                                                                               \
        for (size_t i = 0; i < rows; i++) {                                                                                         \
            double *cell = table + width * ((size_t)codes[i] * places + (size_t)place[i]);                                          \
            const double *row = terms + width * i;                                                                                  \
            for (size_t k = 0; k < width; k++)                                                                                      \
                cell[k] += row[k];                                                                                                  \
        }                                                                                                                           \
    }

ADD(multivalid_add_cells_1, uint8_t)
ADD(multivalid_add_cells_2, uint16_t)
