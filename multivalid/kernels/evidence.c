/* The rounds of evidence.py, one after the other: each row multiplies the wealth of the bets of its groups.
 *
 * A bet is (family, side and rate): family 0 bets alike in every bucket, family 1 against each other below and above the middle, family
 * 2 + i in bucket i alone. `wealth`, `run`, `begun` and `begun_time` have groups x families x bets entries, `held` the sums over bets.
 * The first half of the bets gains when V is high, the second when it is low. The last row of `rates` is for rows without a bucket.
 */
#include <stddef.h>
#include <stdint.h>

struct evidence {
    int64_t groups, buckets, block;
    double tolerance, threshold, ceiling;
    double *wealth, *run, *begun_time, *held, *cash, *sums, *evidence, *peak, *alarm_time, *alarm_since_time;
    int64_t *begun, *rounds, *alarm_round, *alarm_since, *alarm_bet;
    const double *prior, *rates;
};

struct rows {
    int64_t count, first;
    const uint8_t *member;
    const int64_t *bucket;
    const double *value, *scale, *time;
};

#define BETS 16 /* two sides times the rates of evidence.py */

static void start(const struct evidence *e, int64_t g)
{
    int64_t families = e->buckets + 2, all = families * BETS;
    double j = (double)(e->rounds[g] / e->block + 1), part = 1.0 / (j * (j + 1.0));
    double *wealth = e->wealth + g * all;
    e->cash[g] = 1.0 / (j + 1.0);
    for (int64_t f = 0; f < families; f++) {
        double sum = 0.0;
        for (int64_t k = f * BETS; k < (f + 1) * BETS; k++) {
            wealth[k] += part * e->prior[k];
            sum += wealth[k];
        }
        e->held[g * families + f] = sum;
    }
}

static inline __attribute__((always_inline)) void play(const struct evidence *e, int64_t g, int64_t family, const double *restrict factor, int64_t round, double time)
{
    int64_t families = e->buckets + 2, at = (g * families + family) * BETS;
    double *restrict wealth = e->wealth + at, *restrict run = e->run + at, *restrict begun_time = e->begun_time + at;
    int64_t *restrict begun = e->begun + at;
    double sum = 0.0, ceiling = e->ceiling;
    /* Without branches, so that the compiler can take several bets at a time. */
    for (int k = 0; k < BETS; k++) {
        double w = wealth[k] * factor[k];
        wealth[k] = w < ceiling ? w : ceiling;
    }
    for (int k = 0; k < BETS; k++) {
        int over = run[k] < 1.0;
        begun[k] = over ? round : begun[k];
        begun_time[k] = over ? time : begun_time[k];
        double r = (over ? 1.0 : run[k]) * factor[k];
        run[k] = r < ceiling ? r : ceiling;
    }
    for (int k = 0; k < BETS; k++)
        sum += wealth[k];
    e->held[g * families + family] = sum;
}

static void look(const struct evidence *e, int64_t g, int64_t round, double time)
{
    int64_t families = e->buckets + 2, all = families * BETS, best = 0;
    double total = 0.0;
    for (int64_t f = 0; f < families; f++)
        total += e->held[g * families + f];
    total += e->cash[g];
    e->evidence[g] = total;
    if (total > e->peak[g])
        e->peak[g] = total;
    if (total < e->threshold || e->alarm_round[g] >= 0)
        return;
    for (int64_t k = 1; k < all; k++)
        if (e->wealth[g * all + k] > e->wealth[g * all + best])
            best = k;
    e->alarm_round[g] = round;
    e->alarm_time[g] = time;
    e->alarm_bet[g] = best;
    e->alarm_since[g] = e->begun[g * all + best];
    e->alarm_since_time[g] = e->begun_time[g * all + best];
}

#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && defined(__gnu_linux__)
__attribute__((target_clones("avx2", "default"))) /* the widest registers that the machine has, chosen when the library is loaded */
#endif
void multivalid_evidence(const struct evidence *e, const struct rows *rows)
{
    double factor[BETS], turned[BETS];
    const int half = BETS / 2;
    for (int64_t i = 0; i < rows->count; i++) {
        int64_t bucket = rows->bucket[i], round = rows->first + i;
        const double *rate = e->rates + bucket * BETS;
        double high = (rows->value[i] - e->tolerance) * rows->scale[i], low = (rows->value[i] + e->tolerance) * rows->scale[i];
        for (int k = 0; k < BETS; k++) {
            double f = k < half ? 1.0 + rate[k] * high : 1.0 - rate[k] * low;
            factor[k] = f > 0.0 ? f : 0.0;
        }
        for (int k = 0; k < BETS; k++)
            turned[k] = 2 * bucket < e->buckets ? factor[(k + half) % BETS] : factor[k];
        for (int64_t g = 0; g < e->groups; g++) {
            if (!rows->member[i * e->groups + g])
                continue;
            if (e->rounds[g] % e->block == 0)
                start(e, g);
            e->rounds[g]++;
            e->sums[g] += rows->value[i];
            play(e, g, 0, factor, round, rows->time[i]);
            if (bucket < e->buckets) {
                play(e, g, 1, turned, round, rows->time[i]);
                play(e, g, 2 + bucket, factor, round, rows->time[i]);
            }
            look(e, g, round, rows->time[i]);
        }
    }
}
