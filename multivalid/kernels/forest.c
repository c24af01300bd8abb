/* What trees add to each row. Node k of a tree looks at one column: rows whose code is marked in its table of 256 go to `first`, the others
 * to `second`; an index below zero stands for the leaf ~index, whose value is added. The NumPy twin is discover/forest.py.
 */
#include <stddef.h>
#include <stdint.h>

void multivalid_add_trees(const uint8_t *codes, size_t rows, size_t columns, const int32_t *roots, size_t trees, const int32_t *column,
                          const uint8_t *marked, const int32_t *first, const int32_t *second, const double *values, double *out)
{
    for (size_t i = 0; i < rows; i++) {
        const uint8_t *row = codes + i * columns;
        double sum = out[i];
        for (size_t t = 0; t < trees; t++) {
            int32_t node = roots[t];
            while (node >= 0)
                node = marked[(size_t)node * 256 + row[column[node]]] ? first[node] : second[node];
            sum += values[~node];
        }
        out[i] = sum;
    }
}
