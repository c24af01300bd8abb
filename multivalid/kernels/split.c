/* The best split of a node from its histograms, and what a leaf adds to its rows. The NumPy twins are in discover/split.py and discover/histogram.py;
 * the same sums in the same order, so that both choose the same split.
 */
#include <stddef.h>
#include <stdint.h>

#define CODES 256

struct node {
    const double *sums; /* cell (column, code) starts at column * column_step + code * code_step: G, H, rows */
    int64_t columns, column_step, code_step;
    const uint8_t *ordered;
    const int64_t *missing; /* the last code of each column */
    double total[3], prior, category_prior, least_rows, floor;
};

static double one_side(double g, double h, double prior)
{
    return g * g / ((h > 0.0 ? h : 0.0) + prior);
}

/* Codes in the order in which they may be cut: as they are, or by their own step, ties as they are. */
static void put_in_order(const struct node *n, int64_t column, int64_t *order)
{
    double step[CODES];
    for (int64_t code = 0; code <= n->missing[column]; code++) {
        int64_t at = code;
        if (!n->ordered[column]) {
            const double *cell = n->sums + column * n->column_step + code * n->code_step;
            double mine = cell[0] / (cell[1] + n->category_prior);
            for (; at > 0 && step[at - 1] > mine; at--) {
                step[at] = step[at - 1];
                order[at] = order[at - 1];
            }
            step[at] = mine;
        }
        order[at] = code;
    }
}

/* `choice`: column, place of the cut, whether missing values go left; `best_order`: the codes of that column in order. Returns 0 where no
 * split gains more than `floor`. */
int64_t multivalid_best_split(const struct node *n, int64_t *choice, int64_t *best_order)
{
    int64_t order[CODES], found = 0;
    double best = n->floor;
    for (int64_t with_missing = 0; with_missing < 2; with_missing++)
        for (int64_t column = 0; column < n->columns; column++) {
            const double *table = n->sums + column * n->column_step;
            const double *away = table + n->missing[column] * n->code_step;
            if (with_missing && !(n->ordered[column] && away[2] > 0.0))
                continue;
            put_in_order(n, column, order);
            double g = 0.0, h = 0.0, rows = 0.0;
            for (int64_t cut = 0; cut <= n->missing[column]; cut++) {
                if (n->ordered[column] && cut == n->missing[column])
                    break;
                const double *cell = table + order[cut] * n->code_step;
                g += cell[0];
                h += cell[1];
                rows += cell[2];
                double left_g = with_missing ? g + away[0] : g, left_h = with_missing ? h + away[1] : h;
                double left_rows = with_missing ? rows + away[2] : rows;
                if (left_rows < n->least_rows || n->total[2] - left_rows < n->least_rows)
                    continue;
                double gain = one_side(left_g, left_h, n->prior) + one_side(n->total[0] - left_g, n->total[1] - left_h, n->prior);
                if (gain > best) {
                    best = gain;
                    found = 1;
                    choice[0] = column;
                    choice[1] = cut;
                    choice[2] = with_missing;
                    for (int64_t k = 0; k <= n->missing[column]; k++)
                        best_order[k] = order[k];
                }
            }
        }
    return found;
}

/* Adds one value to the rows of a leaf. */
void multivalid_add_to_rows(double *out, const int32_t *rows, size_t count, double value)
{
    for (size_t i = 0; i < count; i++)
        out[rows[i]] += value;
}
