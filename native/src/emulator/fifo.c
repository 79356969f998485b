#include "emulator/fifo.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_ITEMS = 256 };

static size_t power_of_two(size_t n)
{
	size_t p = FIRST_ITEMS;

	while (p < n)
		p *= 2;
	return p;
}

void nl_fifo_init(struct nl_fifo *f, size_t item_B, size_t max)
{
	memset(f, 0, sizeof(*f));
	f->item_B = item_B;
	f->max = power_of_two(max);
}

void nl_fifo_free(struct nl_fifo *f)
{
	free(f->at);
	f->at = NULL;
	f->cap = f->first = f->count = 0;
}

static unsigned char *fifo_item(const struct nl_fifo *f, size_t index)
{
	return f->at + ((f->first + index) & (f->cap - 1)) * f->item_B;
}

int nl_fifo_reserve(struct nl_fifo *f, size_t more)
{
	unsigned char *at;
	size_t cap, head;

	if (f->cap - f->count >= more)
		return 0;
	if (more > f->max - f->count)
		return -1;
	cap = power_of_two(f->count + more);
	at = malloc(cap * f->item_B);
	if (!at)
		return -1;
	head = f->cap - f->first < f->count ? f->cap - f->first : f->count;
	if (f->count) {
		memcpy(at, f->at + f->first * f->item_B, head * f->item_B);
		memcpy(at + head * f->item_B, f->at, (f->count - head) * f->item_B);
	}
	free(f->at);
	f->at = at;
	f->cap = cap;
	f->first = 0;
	return 0;
}

void nl_fifo_push(struct nl_fifo *f, const void *new_item)
{
	f->count++;
	memcpy(fifo_item(f, f->count - 1), new_item, f->item_B);
}

void *nl_fifo_first(const struct nl_fifo *f)
{
	return f->count ? fifo_item(f, 0) : NULL;
}

void nl_fifo_pop(struct nl_fifo *f)
{
	f->first = (f->first + 1) & (f->cap - 1);
	f->count--;
}
