/* The rounds of the sharp online learner: the guide, the walk over buckets, the bets, the edges.
 *
 * The NumPy twin is the folder online/sharp (guide.py, walk.py, bets.py, edges.py), with the same names; tests hold the two to 1e-12 of each
 * other. The theorem is in docs/online.md.
 *
 * A position is the distance from the lower end of the range of predictions over its length, so that an offset of the labels costs no
 * digits. Cells are [group][bucket], bets [copy][group][bucket][rate], both relative to what they started with.
 */
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && defined(__gnu_linux__)
#define WIDE __attribute__((target_clones("avx2", "default"))) /* the widest registers that the machine has; no fused operations */
#else
#define WIDE
#endif
#define INLINE static inline __attribute__((always_inline))

enum { SPEEDS = 5, LEARNERS = 10, EXPERTS = 11, HATS = 10, KEPT = 1024, FIRST_EDGES = 64, MOST_RATES = 32, SOME = 16 };
enum { LO, LENGTH, LOWEST, LOW_VALUE, HIGH_VALUE, BOUND, STAKE, KIND, TAU };                                    /* setting */
enum { ROUNDS, MISS, SQUARED, FLATNESS, BASES, BASE_MEAN, BASE_SQUARES, GUIDES, USED, START };                  /* running */

/* What a prediction has to remember until its outcome comes; as many doubles as sharp/play.py names. */
typedef struct {
    double prediction; /* in the label's units */
    double guide;      /* position */
    double offset;     /* of the prediction from the guide, as a position */
    double nearby;     /* the offset over the typical miss, cut at -1 and 1 */
    double bucket;     /* the bucket, or the lower of two */
    double share;      /* of the row that belongs to `bucket`; the rest to the one above */
    double has_base;
    double tilt;       /* the base, standardised */
    double hat;        /* the hat function below the base, and the weight of the one above it */
    double hat_share;
    double copy;       /* which copy of the bets plays the round */
    double others;     /* outcomes that were open when it was asked */
    double scale;      /* of its bets */
    double from, width; /* the range when it was made */
    double stamp;      /* how often its copy had paid when it was made */
    double expert[EXPERTS];
} play_t;

typedef struct {
    int64_t groups, buckets, rates;
    const double *setting;
    double *running, *edge, *kept;
    double *up, *down, *owed, *weight; /* bets for R too large and too small; Σ rate·(up − down); weight of each cell of each copy */
    double *far, *near, *played;       /* bets on the score [copy][rate], and the weight that each copy played */
    double *count, *sum, *square, *level; /* n, R, Q and the sum of predictions of each cell */
    double *rows;                      /* of each group */
    double *slow, *fast, *slope, *hats; /* guide: [group][learner], hats [hat][learner] */
    double *seen;                      /* weight of each group, then of each hat */
    double *regret, *spread;           /* of each expert */
} sharp_t;

static const double STEP[SPEEDS] = {0.0, 0.01, 0.03, 0.1, 0.3};
static const double LEAK[SPEEDS] = {0.0, 0.01, 0.03, 0.003, 0.003};
enum { ACTUAL = 2 + LEARNERS, VALUES };
enum { EVERYONE_ONLY = 3 }; /* from this speed on only group 0 is fast */
static const double RATE[MOST_RATES] = {
    0x1p-0,  0x1p-1,  0x1p-2,  0x1p-3,  0x1p-4,  0x1p-5,  0x1p-6,  0x1p-7,  0x1p-8,  0x1p-9,  0x1p-10,
    0x1p-11, 0x1p-12, 0x1p-13, 0x1p-14, 0x1p-15, 0x1p-16, 0x1p-17, 0x1p-18, 0x1p-19, 0x1p-20, 0x1p-21,
    0x1p-22, 0x1p-23, 0x1p-24, 0x1p-25, 0x1p-26, 0x1p-27, 0x1p-28, 0x1p-29, 0x1p-30, 0x1p-31}; /* of a bet, over the largest */
static const double KNOT[HATS] = {-2.0, -1.5, -1.0, -0.5, 0.0, 0.5, 1.0, 1.25, 1.5, 2.0};

/* Two numbers in one register; compilers do not find loops of ten by themselves. */
typedef double two_t __attribute__((vector_size(16), aligned(8), may_alias));

static double clip(double x, double lo, double hi) { return x < lo ? lo : x > hi ? hi : x; }

static double logit(double x)
{
    x = clip(x, 1e-6, 1.0 - 1e-6);
    return log(x / (1.0 - x));
}

/* ---- guide ------------------------------------------------------------------------------------------------------------ */
static void describe_base(const sharp_t *s, double base, play_t *play)
{
    const double *r = s->running;
    play->has_base = !isnan(base);
    double position = play->has_base ? clip((base - s->setting[LO]) / s->setting[LENGTH], 0.0, 1.0) : r[START];
    double deviation = r[BASES] > 1.0 ? sqrt(r[BASE_SQUARES] / r[BASES]) : 0.0;
    play->tilt = play->has_base && deviation > 1e-9 ? clip((position - r[BASE_MEAN]) / deviation, -2.0, 2.0) : 0.0;
    int j = 0;
    while (j < HATS - 2 && play->tilt >= KNOT[j + 1])
        j++;
    play->hat = j;
    play->hat_share = (play->tilt - KNOT[j]) / (KNOT[j + 1] - KNOT[j]);
    play->expert[LEARNERS] = position;
}

WIDE static void ask_experts(const sharp_t *s, const int64_t *active, int64_t n, play_t *play)
{
    double shift[LEARNERS], position = play->expert[LEARNERS], odds = logit(position), tilt = play->tilt;
    two_t sum[LEARNERS / 2] = {{0.0}};
    for (int64_t a = 0; a < n; a++) {
        const two_t *slow = (two_t *)(s->slow + active[a] * LEARNERS), *fast = (two_t *)(s->fast + active[a] * LEARNERS);
        const two_t *slope = (two_t *)(s->slope + active[a] * LEARNERS);
        for (int l = 0; l < LEARNERS / 2; l++)
            sum[l] += slow[l] + fast[l] + tilt * slope[l];
    }
    memcpy(shift, sum, sizeof shift);
    const double *below = s->hats + (size_t)play->hat * LEARNERS, *above = below + LEARNERS;
    double high = play->has_base ? play->hat_share : 0.0, low = play->has_base ? 1.0 - high : 0.0;
    for (int l = 0; l < LEARNERS; l++) {
        double z = (l < SPEEDS ? position : odds) + shift[l] + low * below[l] + high * above[l];
        play->expert[l] = l < SPEEDS ? clip(z, 0.0, 1.0) : 1.0 / (1.0 + exp(-z));
    }
}

static void mix_experts(const sharp_t *s, play_t *play)
{
    double total = 0.0, mixed = 0.0;
    for (int l = 0; l < EXPERTS; l++) {
        double w = s->regret[l] > 0.0 ? s->regret[l] / (1.0 + s->spread[l]) : 0.0;
        total += w;
        mixed += w * play->expert[l];
    }
    play->guide = total > 0.0 ? clip(mixed / total, 0.0, 1.0) : play->expert[LEARNERS];
}

INLINE void move_group(two_t *slow, two_t *slope, two_t *fast, double rate, double lean, const two_t *move, const two_t *keep,
                       const two_t *push)
{
    for (int l = 0; l < LEARNERS / 2; l++) {
        two_t step = rate * move[l];
        slow[l] -= step;
        slope[l] -= lean * step;
        fast[l] = keep[l] * fast[l] - push[l];
    }
}

/* value[0] is V at the prediction, value[1] at the guide, value[2 + l] at learner l, all of the label cut to the range; value[ACTUAL] is V at
 * the prediction of the label as it came. `truth` is the position of the label. */
WIDE static void teach(sharp_t *s, const int64_t *active, int64_t n, const play_t *play, const double *value, double truth, double weight)
{
    double *r = s->running, pace = weight / sqrt(1.0 + play->others), step = weight * value[1] / s->setting[BOUND];
    for (int l = 0; l < EXPERTS; l++) {
        double gain = step * (play->guide - play->expert[l]);
        s->regret[l] += gain;
        s->spread[l] += gain * gain;
    }
    if (r[ROUNDS] == 0.0)
        r[START] = clip(truth, 0.01, 0.99);
    r[ROUNDS] += weight;
    r[MISS] += weight * fabs(truth - play->guide);
    r[SQUARED] += weight * value[1] * value[1];
    r[FLATNESS] += weight * play->guide * (1.0 - play->guide);
    double rms = sqrt(r[SQUARED] / r[ROUNDS]), miss = r[MISS] / r[ROUNDS];
    double scale = rms > 0.0 ? pace * miss / rms : 0.0, stretch = 1.0 / fmax(r[FLATNESS] / r[ROUNDS], 1e-3);
    double move[LEARNERS], keep[2 * LEARNERS], push[2 * LEARNERS]; /* of the fast numbers: for everyone, then for the other groups */
    for (int l = 0; l < LEARNERS; l++) {
        int speed = l % SPEEDS, still = speed >= EVERYONE_ONLY;
        move[l] = scale * value[2 + l] * (l < SPEEDS ? 1.0 : stretch);
        keep[l] = 1.0 - LEAK[speed] * weight;
        push[l] = STEP[speed] * move[l];
        keep[LEARNERS + l] = still ? 1.0 : keep[l];
        push[LEARNERS + l] = still ? 0.0 : push[l];
    }
    double lean = 0.25 * play->tilt, rate[SOME];
    for (int64_t first = 0; first < n; first += SOME) {
        int64_t some = n - first < SOME ? n - first : SOME;
        for (int64_t a = 0; a < some; a++)
            rate[a] = s->seen[active[first + a]] += weight;
        for (int64_t a = 0; a < some; a++)
            rate[a] = 0.1 / sqrt(10.0 + rate[a]);
        for (int64_t a = 0; a < some; a++) {
            int64_t g = active[first + a];
            int from = g == 0 ? 0 : LEARNERS;
            move_group((two_t *)(s->slow + g * LEARNERS), (two_t *)(s->slope + g * LEARNERS), (two_t *)(s->fast + g * LEARNERS), rate[a],
                       lean, (two_t *)move, (two_t *)(keep + from), (two_t *)(push + from));
        }
    }
    if (!play->has_base)
        return;
    for (int side = 0; side < 2; side++) {
        size_t j = (size_t)play->hat + (size_t)side;
        double part = side ? play->hat_share : 1.0 - play->hat_share;
        s->seen[(size_t)s->groups + j] += weight * part;
        double rate = 0.1 * part / sqrt(10.0 + s->seen[(size_t)s->groups + j]);
        for (int l = 0; l < LEARNERS; l++)
            s->hats[j * LEARNERS + l] -= rate * move[l];
    }
    r[BASES] += weight;
    double apart = play->expert[LEARNERS] - r[BASE_MEAN];
    r[BASE_MEAN] += weight * apart / r[BASES];
    r[BASE_SQUARES] += weight * apart * (play->expert[LEARNERS] - r[BASE_MEAN]);
}

/* ---- walk ------------------------------------------------------------------------------------------------------------- */
static double debt(const sharp_t *s, const int64_t *active, int64_t n, int64_t copy, int64_t bucket)
{
    const double *cells = s->owed + copy * s->groups * s->buckets + bucket;
    double total = 0.0;
    for (int64_t a = 0; a < n; a++)
        total += cells[active[a] * s->buckets];
    return s->setting[STAKE] * total / (2.0 * (double)s->rates * (s->setting[LOW_VALUE] + s->setting[HIGH_VALUE]));
}

typedef struct {
    double far, near, typical;
} pull_t;

static double pull(pull_t p, double offset) { return p.far * offset + p.near * clip(offset / p.typical, -1.0, 1.0); }

static pull_t find_pull(const sharp_t *s, int64_t copy)
{
    pull_t p = {0.0, 0.0, 1.0};
    const double *far = s->far + copy * s->rates, *near = s->near + copy * s->rates;
    double a[4] = {0.0}, b[4] = {0.0}, scale = 4.0 * (double)s->rates * s->setting[BOUND];
    for (int64_t k = 0; k < s->rates; k += 4) /* rates come in fours */
        for (int64_t j = 0; j < 4; j++) {
            a[j] += RATE[k + j] * far[k + j];
            b[j] += RATE[k + j] * near[k + j];
        }
    p.far = ((a[0] + a[1]) + (a[2] + a[3])) / scale;
    p.near = ((b[0] + b[1]) + (b[2] + b[3])) / scale;
    if (s->running[ROUNDS] > 0.0)
        p.typical = fmax(s->running[MISS] / s->running[ROUNDS], 1e-6);
    return p;
}

static void publish(const sharp_t *s, play_t *play, pull_t p, int64_t bucket, double share, double offset, double position)
{
    play->bucket = (double)bucket;
    play->share = share;
    play->offset = offset;
    play->nearby = clip(offset / p.typical, -1.0, 1.0);
    play->prediction = s->setting[LO] + s->setting[LENGTH] * clip(position, 0.0, 1.0);
}

static void walk(const sharp_t *s, const int64_t *active, int64_t n, play_t *play)
{
    int64_t copy = (int64_t)play->copy, used = (int64_t)s->running[USED], i = 0;
    pull_t p = find_pull(s, copy);
    while (i < used - 1 && play->guide >= s->edge[i])
        i++;
    double here = debt(s, active, n, copy, i);
    int up = here < 0.0;
    for (;;) {
        int last = up ? i == used - 1 : i == 0;
        double edge = last ? (up ? 1.0 : 0.0) : s->edge[up ? i : i - 1];
        double slope = pull(p, edge - play->guide), before = here + slope;
        if (up ? before >= 0.0 : before <= 0.0) { /* a zero inside the bucket */
            double size = fabs(here), turn = p.far * p.typical + p.near;
            double distance = size <= turn ? size / (p.far + p.near / p.typical) : (size - p.near) / p.far;
            double offset = up ? distance : -distance;
            publish(s, play, p, i, 1.0, offset, play->guide + offset);
            return;
        }
        if (last) { /* every bucket says the same: below all labels, or above them */
            publish(s, play, p, i, 1.0, edge - play->guide, edge);
            if (!up)
                play->prediction = s->setting[LOWEST];
            return;
        }
        int64_t next = up ? i + 1 : i - 1;
        double there = debt(s, active, n, copy, next), after = there + slope;
        if (up ? after >= 0.0 : after <= 0.0) { /* the sign changes at the edge: the row belongs to both buckets in part */
            double mine = fabs(after) / (fabs(before) + fabs(after));
            publish(s, play, p, up ? i : next, up ? mine : 1.0 - mine, edge - play->guide, edge);
            return;
        }
        i = next;
        here = there;
    }
}

/* ---- bets ------------------------------------------------------------------------------------------------------------- */
/* What a row multiplies the bets of its cells by in one of its buckets: the same for all of its groups. */
typedef struct {
    int64_t bucket;
    double stake, part; /* weight in the bucket, and that times V */
    double up[MOST_RATES], down[MOST_RATES];
} factors_t;

INLINE void find_factors(const sharp_t *s, const play_t *play, int64_t bucket, double stake, const double *value, factors_t *f)
{
    f->bucket = bucket;
    f->stake = stake;
    f->part = stake * value[0];
    double half = 0.5 * play->scale * f->part, plus = half / s->setting[LOW_VALUE], minus = half / s->setting[HIGH_VALUE];
    for (int64_t k = 0; k < s->rates; k++) {
        f->up[k] = 1.0 + plus * RATE[k];
        f->down[k] = 1.0 - minus * RATE[k];
    }
}

/* The new Σ rate·(up − down). */
INLINE double multiply(double *restrict up, double *restrict down, const factors_t *restrict f, double floor, int64_t rates)
{
    double total[4] = {0.0};
    for (int64_t k = 0; k < rates; k += 4)
        for (int64_t j = 0; j < 4; j++) {
            double u = up[k + j] * f->up[k + j], d = down[k + j] * f->down[k + j];
            up[k + j] = u = u < floor ? floor : u;
            down[k + j] = d = d < floor ? floor : d;
            total[j] += RATE[k + j] * (u - d);
        }
    return (total[0] + total[1]) + (total[2] + total[3]);
}

INLINE void bet(sharp_t *s, int64_t group, const play_t *play, const factors_t *f, double actual)
{
    int64_t cell = group * s->buckets + f->bucket, mine = (int64_t)play->copy * s->groups * s->buckets + cell;
    s->count[cell] += f->stake;
    s->sum[cell] += f->stake * actual;
    s->square[cell] += f->part * f->part;
    s->level[cell] += f->stake * play->prediction;
    s->weight[mine] += f->stake * play->scale;
    double n = s->weight[mine] + 1.0, floor = 1.0 / (n * n);
    double *up = s->up + mine * s->rates, *down = s->down + mine * s->rates;
    s->owed[mine] = s->rates == 16 ? multiply(up, down, f, floor, 16) : multiply(up, down, f, floor, s->rates);
}

WIDE static void settle_bets(sharp_t *s, const int64_t *active, int64_t n, const play_t *play, const double *value, double weight)
{
    int64_t copy = (int64_t)play->copy, bucket = (int64_t)play->bucket;
    double scale = play->scale;
    factors_t below, above;
    if (play->share > 0.0)
        find_factors(s, play, bucket, weight * play->share, value, &below);
    if (play->share < 1.0)
        find_factors(s, play, bucket + 1, weight * (1.0 - play->share), value, &above);
    for (int64_t a = 0; a < n; a++) {
        s->rows[active[a]] += 1.0;
        if (play->share > 0.0)
            bet(s, active[a], play, &below, value[ACTUAL]);
        if (play->share < 1.0)
            bet(s, active[a], play, &above, value[ACTUAL]);
    }
    s->played[copy] += weight * scale;
    double count = s->played[copy] + 1.0, floor = 1.0 / (count * count), half = 0.5 * scale * weight * value[0] / s->setting[BOUND];
    double *far = s->far + copy * s->rates, *near = s->near + copy * s->rates;
    for (int64_t k = 0; k < s->rates; k++) {
        double f = far[k] * (1.0 + half * RATE[k] * play->offset), c = near[k] * (1.0 + half * RATE[k] * play->nearby);
        far[k] = f < floor ? floor : f;
        near[k] = c < floor ? floor : c;
    }
}

/* ---- edges ------------------------------------------------------------------------------------------------------------ */
static uint64_t scramble(uint64_t x)
{
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

static void sift(double *heap, int64_t i, int64_t n)
{
    double x = heap[i];
    for (int64_t j; (j = 2 * i + 1) < n; i = j) {
        if (j + 1 < n && heap[j + 1] > heap[j])
            j++;
        if (heap[j] <= x)
            break;
        heap[i] = heap[j];
    }
    heap[i] = x;
}

static void renew_edges(sharp_t *s, int64_t n)
{
    double sorted[KEPT];
    for (int64_t i = 0; i < n; i++)
        sorted[i] = s->kept[i];
    for (int64_t i = n / 2 - 1; i >= 0; i--)
        sift(sorted, i, n);
    for (int64_t i = n - 1; i > 0; i--) {
        double largest = sorted[0];
        sorted[0] = sorted[i];
        sorted[i] = largest;
        sift(sorted, 0, i);
    }
    int64_t used = 1;
    for (int64_t i = 1; i < s->buckets; i++) {
        double edge = sorted[i * n / s->buckets];
        if (edge > 0.0 && edge < 1.0 && (used == 1 || edge > s->edge[used - 2]))
            s->edge[used++ - 1] = edge;
    }
    s->running[USED] = (double)used;
}

static void keep_guide(sharp_t *s, double guide)
{
    int64_t seen = (int64_t)s->running[GUIDES], slot = seen < KEPT ? seen : (int64_t)(scramble((uint64_t)seen) % (uint64_t)(seen + 1));
    if (slot < KEPT)
        s->kept[slot] = guide;
    s->running[GUIDES] = (double)++seen;
    if (seen >= FIRST_EDGES && (seen & (seen - 1)) == 0)
        renew_edges(s, seen < KEPT ? seen : KEPT);
}

/* ---- what Python calls -------------------------------------------------------------------------------------------------- */
void multivalid_sharp_choose(const sharp_t *s, const int64_t *active, int64_t n, double base, play_t *play)
{
    describe_base(s, base, play);
    ask_experts(s, active, n, play);
    mix_experts(s, play);
    walk(s, active, n, play);
}

void multivalid_sharp_settle(sharp_t *s, const int64_t *active, int64_t n, const play_t *play, const double *value, double truth,
                             double weight)
{
    settle_bets(s, active, n, play, value, weight);
    keep_guide(s, play->guide);
    teach(s, active, n, play, value, truth, weight);
}

/* V of the kinds that C knows: 1 is 1[y ≤ p] − tau, 2 is 2·|1[y ≤ p] − tau|·(p − y). */
static double identify(const double *setting, double p, double y)
{
    double tau = setting[TAU];
    return setting[KIND] == 1.0 ? (y <= p ? 1.0 - tau : -tau) : 2.0 * (y <= p ? 1.0 - tau : tau) * (p - y);
}

static void find_values(const sharp_t *s, const play_t *play, double y, double *value)
{
    const double *set = s->setting;
    value[0] = value[ACTUAL] = identify(set, play->prediction, y);
    value[1] = identify(set, set[LO] + set[LENGTH] * play->guide, y);
    for (int l = 0; l < LEARNERS; l++)
        value[2 + l] = identify(set, set[LO] + set[LENGTH] * play->expert[l], y);
}

/* Both at once, for a label in the range. */
void multivalid_sharp_learn(sharp_t *s, const int64_t *active, int64_t n, const play_t *play, double y, double weight)
{
    double value[VALUES];
    find_values(s, play, y, value);
    multivalid_sharp_settle(s, active, n, play, value, clip((y - s->setting[LO]) / s->setting[LENGTH], 0.0, 1.0), weight);
}

/* Many predictions from the state as it is; `plays` come with all that is not chosen here filled in. */
void multivalid_sharp_choose_many(const sharp_t *s, const int64_t *active, const int64_t *starts, int64_t rows, const double *base,
                                  play_t *plays)
{
    for (int64_t t = 0; t < rows; t++)
        multivalid_sharp_choose(s, active + starts[t], starts[t + 1] - starts[t], base[t], plays + t);
}

/* Numbers of the groups whose byte is 1, eight at a time where none is. */
static int64_t find_active(const uint8_t *member, int64_t groups, int64_t *active)
{
    int64_t n = 0, g = 0;
    while (g < groups) {
        uint64_t eight = 0;
        if (g + 8 <= groups)
            memcpy(&eight, member + g, 8);
        if (g + 8 <= groups && eight == 0) {
            g += 8;
            continue;
        }
        for (int64_t end = g + 8 < groups ? g + 8 : groups; g < end; g++) {
            active[n] = g;
            n += member[g] != 0;
        }
    }
    return n;
}

/* Row after row: predict, hear the label, learn. Labels lie in the range; `play` comes with copy, others, scale and range filled in;
 * `active` has room for all groups. */
void multivalid_sharp_replay(sharp_t *s, const uint8_t *member, int64_t rows, const double *base, const double *label,
                             const double *weight, int64_t *active, play_t *play, double *predictions)
{
    for (int64_t t = 0; t < rows; t++) {
        int64_t n = find_active(member + t * s->groups, s->groups, active);
        multivalid_sharp_choose(s, active, n, base[t], play);
        predictions[t] = play->prediction;
        if (weight[t] > 0.0)
            multivalid_sharp_learn(s, active, n, play, label[t], weight[t]);
    }
}
