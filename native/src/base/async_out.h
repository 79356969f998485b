/* out: whole lines to a descriptor, written by a thread of its own.
 *
 * Whoever has something to say never waits for the reader: lines queue up and the
 * writer thread writes them in order, each whole. When the descriptor breaks, or the
 * queue outgrows its bound because nobody reads, the out is broken for good and a
 * byte on broken_fd says so. */
#ifndef NL_ASYNC_OUT_H
#define NL_ASYNC_OUT_H

#include "base/json.h"

#include <stdint.h>

struct nl_async_out;

/* NULL with errno on failure. The descriptor stays the caller's. */
struct nl_async_out *nl_async_out_new(int fd);

/* Queue the JSON as one line and empty *j, which stays the caller's. Any thread. A
 * text that ran out of memory breaks the out. */
void nl_async_out_put(struct nl_async_out *out, struct nl_json *j);

/* Readable when the out is broken. */
int nl_async_out_broken_fd(const struct nl_async_out *out);

/* Wait until all is written or the time is up. 0 when all is written. */
int nl_async_out_flush(struct nl_async_out *out, uint64_t deadline_ns);

/* After a successful flush only: a writer stuck in write() cannot be joined. */
void nl_async_out_free(struct nl_async_out *out);

#endif
