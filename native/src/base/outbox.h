/* outbox: whole lines to a descriptor, written by a thread of its own.
 *
 * Whoever has something to say never waits for the reader: lines queue up and the
 * writer thread writes them in order, each whole. When the descriptor breaks, or the
 * queue outgrows its bound because nobody reads, the outbox is broken for good and a
 * byte on broken_fd says so. */
#ifndef NL_OUTBOX_H
#define NL_OUTBOX_H

#include "base/json.h"

#include <stdint.h>

struct nl_outbox;

/* NULL with errno on failure. The descriptor stays the caller's. */
struct nl_outbox *nl_outbox_new(int fd);

/* Queue the JSON as one line and empty *j, which stays the caller's. Any thread. A
 * text that ran out of memory breaks the outbox. */
void nl_outbox_put(struct nl_outbox *outbox, struct nl_json *j);

/* Readable when the outbox is broken. */
int nl_outbox_broken_fd(const struct nl_outbox *outbox);

/* Wait until all is written or the time is up. 0 when all is written. */
int nl_outbox_flush(struct nl_outbox *outbox, uint64_t deadline_ns);

/* After a successful flush only: a writer stuck in write() cannot be joined. */
void nl_outbox_free(struct nl_outbox *outbox);

#endif
