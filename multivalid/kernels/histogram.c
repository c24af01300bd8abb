/* Sums of two values by code of each column, and by the codes of each pair of columns: what splits and slices are found from.
 *
 * A column has at most 256 codes. Rows are added in their order, so that the NumPy twins (discover/histogram.py) give the same bits.
 */
#include <stddef.h>
#include <stdint.h>

#define STRIP 4096

typedef double Four __attribute__((vector_size(32), aligned(8))); /* one cell: first, second, rows, unused; added at once */

/* `codes` has the codes of one row side by side; `rows` are the row numbers to add up. `out`: columns × width × 4. */
#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && defined(__gnu_linux__)
__attribute__((target_clones("avx2", "default")))
#endif
void multivalid_histogram(const uint8_t *codes, size_t columns, size_t width, const int32_t *rows, size_t count, const double *first,
                          const double *second, double *out)
{
    for (size_t i = 0; i < count; i++) {
        const uint8_t *row = codes + (size_t)rows[i] * columns;
        Four added = {first[rows[i]], second[rows[i]], 1.0, 0.0};
        double *table = out;
        for (size_t c = 0; c < columns; c++, table += 4 * width)
            *(Four *)(table + 4 * row[c]) += added;
    }
}

/* `codes` has one column after the other; `pairs` names two columns each. Table k starts at out + 3·starts[k] and has `sizes` of the
 * second column per code of the first. Strips of rows keep both columns and a table in the nearest cache. */
void multivalid_pair_histograms(const uint8_t *codes, size_t rows, const int64_t *pairs, size_t count, const int64_t *sizes,
                                const int64_t *starts, const double *first, const double *second, double *out)
{
    for (size_t start = 0; start < rows; start += STRIP) {
        size_t stop = rows - start < STRIP ? rows : start + STRIP;
        for (size_t k = 0; k < count; k++) {
            const uint8_t *left = codes + (size_t)pairs[2 * k] * rows, *right = codes + (size_t)pairs[2 * k + 1] * rows;
            size_t width = (size_t)sizes[pairs[2 * k + 1]];
            double *table = out + 3 * starts[k];
            for (size_t i = start; i < stop; i++) {
                double *cell = table + 3 * (left[i] * width + right[i]);
                cell[0] += first[i];
                cell[1] += second[i];
                cell[2] += 1.0;
            }
        }
    }
}

/* Rows of a node to its two children, each in the order they came; returns how many go to the first. */
size_t multivalid_partition(const uint8_t *codes, size_t columns, size_t column, const uint8_t *goes_left, const int32_t *rows, size_t count,
                            int32_t *left, int32_t *right)
{
    size_t taken = 0, kept = 0;
    for (size_t i = 0; i < count; i++) {
        int32_t row = rows[i];
        uint8_t side = goes_left[codes[(size_t)row * columns + column]];
        left[taken] = row;
        right[kept] = row;
        taken += side;
        kept += !side;
    }
    return taken;
}
