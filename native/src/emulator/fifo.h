/* fifo: a first-in first-out queue of equal items that grows up to a bound.
 *
 * The queue owns copies of what is pushed. Pointers into it are good until the next
 * push or pop. One thread at a time. */
#ifndef NL_FIFO_H
#define NL_FIFO_H

#include <stddef.h>

struct nl_fifo {
	unsigned char *at;
	size_t item_B, cap, max, first, count;
};

/* At most max items, rounded up to a power of two. Allocates nothing yet. */
void nl_fifo_init(struct nl_fifo *f, size_t item_B, size_t max);
void nl_fifo_free(struct nl_fifo *f);

/* Room for one more. 0, or -1 when the bound or memory is reached. After it the next
 * push succeeds. */
int nl_fifo_reserve(struct nl_fifo *f, size_t more);
/* Copy of *item at the end; only after a successful reserve. */
void nl_fifo_push(struct nl_fifo *f, const void *item);
/* The oldest item, or NULL when empty. */
void *nl_fifo_first(const struct nl_fifo *f);
void nl_fifo_pop(struct nl_fifo *f); /* forget the oldest; only when there is one */

#endif
