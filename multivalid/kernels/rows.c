/* Rows in the order of their codes, those of one side after those of the other: what is looked up for neighbours stands side by side.
 *
 * Rows that share a bucket keep their order, as in the NumPy twin (sources/row_order.py).
 */
#include <stddef.h>
#include <stdint.h>

/* The new place of every row; `starts` is zeros, one for each (side, bucket), and holds where these end afterwards. A bucket is a run of
 * 1 << shift codes. */
#define PLACE(name, type)                                                                                                           \
    void name(const type *codes, const uint8_t *side, size_t rows, size_t shift, size_t buckets, uint32_t *starts, uint32_t *place) \
    {                                                                                                                               \
        uint32_t next = 0;                                                                                                          \
        for (size_t i = 0; i < rows; i++)                                                                                           \
            starts[buckets * (side[i] != 0) + (codes[i] >> shift)]++;                                                               \
        for (size_t k = 0; k < 2 * buckets; k++) {                                                                                  \
            uint32_t here = starts[k];                                                                                              \
            starts[k] = next;                                                                                                       \
            next += here;                                                                                                           \
        }                                                                                                                           \
        for (size_t i = 0; i < rows; i++)                                                                                           \
            place[i] = starts[buckets * (side[i] != 0) + (codes[i] >> shift)]++;                                                    \
    }

PLACE(multivalid_place_rows_1, uint8_t)
PLACE(multivalid_place_rows_2, uint16_t)
PLACE(multivalid_place_rows_4, uint32_t)

/* How many rows have each code, added to the counts. */
#define COUNT(name, type)                                                                                                           \
    void name(const type *codes, size_t rows, int64_t *counts)                                                                      \
    {                                                                                                                               \
        for (size_t i = 0; i < rows; i++)                                                                                           \
            counts[codes[i]]++;                                                                                                     \
    }

COUNT(multivalid_count_rows_1, uint8_t)
COUNT(multivalid_count_rows_2, uint16_t)
COUNT(multivalid_count_rows_4, uint32_t)

#define MOVE(name, type)                                                                                                            \
    void name(const type *values, const uint32_t *place, size_t rows, type *restrict out)                                           \
    {                                                                                                                               \
        for (size_t i = 0; i < rows; i++)                                                                                           \
            out[place[i]] = values[i];                                                                                              \
    }

MOVE(multivalid_move_rows_1, uint8_t)
MOVE(multivalid_move_rows_2, uint16_t)
MOVE(multivalid_move_rows_4, uint32_t)
MOVE(multivalid_move_rows_8, uint64_t)
