/* Codes of rows (sources/key_codes.py), and rows in the order of their codes, those of one side after those of the other: what is looked up
 * for neighbours stands side by side.
 *
 * Rows that share a bucket keep their order, as in the NumPy twin (sources/row_order.py).
 */
#include <stddef.h>
#include <stdint.h>

/* A column's digit, its distance from the least value times the stride, added to the codes. Unsigned arithmetic wraps around. */
#define DIGIT(name, from, to)                                                                                                       \
    void name(const from *values, size_t rows, uint32_t least, uint32_t stride, to *restrict codes)                                 \
    {                                                                                                                               \
        for (size_t i = 0; i < rows; i++)                                                                                           \
            codes[i] = (to)(codes[i] + ((uint32_t)values[i] - least) * stride);                                                     \
    }
#define DIGITS(from, kind)                                                                                                          \
    DIGIT(multivalid_add_digit_##kind##_1, from, uint8_t)                                                                           \
    DIGIT(multivalid_add_digit_##kind##_2, from, uint16_t)                                                                          \
    DIGIT(multivalid_add_digit_##kind##_4, from, uint32_t)

DIGITS(int8_t, i1)
DIGITS(int16_t, i2)
DIGITS(int32_t, i4)
DIGITS(int64_t, i8)
DIGITS(uint8_t, u1)
DIGITS(uint16_t, u2)
DIGITS(uint32_t, u4)
DIGITS(uint64_t, u8)

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
