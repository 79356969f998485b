/* fifo: a first-in first-out queue of equal items that grows up to a limit.
 *
 * The queue owns copies of its items. Pointers into it are valid until the next push or pop. One
 * thread at a time. */
#pragma once

#include <stddef.h>

struct nl_fifo {
	unsigned char *at;
	size_t item_B, cap, max, first, count;
};

/* At most max items, rounded up to a power of two. Allocates nothing yet. */
void nl_fifo_init(struct nl_fifo *f, size_t item_B, size_t max);
void nl_fifo_free(struct nl_fifo *f);

/* Ensure room for more items. 0, or -1 at the limit or without memory. The pushes after it succeed.
 */
int nl_fifo_reserve(struct nl_fifo *f, size_t more);
/* Append a copy of *item; only after a successful reserve. */
void nl_fifo_push(struct nl_fifo *f, const void *item);
/* The oldest item, or NULL when empty. */
void *nl_fifo_first(const struct nl_fifo *f);
void nl_fifo_pop(struct nl_fifo *f); /* remove the oldest; only if there is one */
