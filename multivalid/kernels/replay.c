/* The loop of patches.py in one pass: all patches on a strip of words before the next strip, so that masks and groups stay in the nearest
 * cache and every word is loaded and stored once per patch.
 *
 * `away` has one row per level, `groups` one per group, 64 data rows to a word; strides are counted in words. `patches` holds group,
 * source and target of each patch in turn, all within the two tables.
 */
#include <stddef.h>
#include <stdint.h>

#define STRIP 512

#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && defined(__gnu_linux__)
__attribute__((target_clones("avx2", "default"))) /* the widest registers that the machine has, chosen when the library is loaded */
#endif
void multivalid_replay(uint64_t *away, size_t away_stride, const uint64_t *groups, size_t group_stride, size_t words,
                       const int64_t *patches, size_t count)
{
    for (size_t start = 0; start < words; start += STRIP) {
        size_t length = words - start < STRIP ? words - start : STRIP;
        for (const int64_t *patch = patches; patch < patches + 3 * count; patch += 3) {
            const uint64_t *restrict group = groups + (size_t)patch[0] * group_stride + start;
            uint64_t *restrict source = away + (size_t)patch[1] * away_stride + start;
            uint64_t *restrict target = away + (size_t)patch[2] * away_stride + start;
            if (patch[1] == patch[2])
                continue;
            for (size_t i = 0; i < length; i++) {
                uint64_t left = ~source[i] & group[i];
                source[i] |= group[i];
                target[i] &= ~left;
            }
        }
    }
}
