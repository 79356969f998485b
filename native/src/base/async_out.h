/* async_out: write whole lines to a descriptor from a thread of its own.
 *
 * Callers never block on the reader: lines are queued, and the writer thread writes them in order.
 * A failed write or a full queue (without a reader) breaks the writer for good and signals broken_fd.
 */
#pragma once

#include "base/json.h"

struct nl_async_out;

/* NULL with errno on failure. The descriptor stays the caller's. */
struct nl_async_out *nl_async_out_new(int fd);

/* Queue the JSON as one line and empty *j, which stays the caller's. Any thread. A text that ran
 * out of memory breaks the writer. A large text first waits until those queued before it are written, so
 * that at most two are in memory. */
void nl_async_out_put(struct nl_async_out *out, struct nl_json *j, int large);

/* Bytes queued, without the large texts. */
size_t nl_async_out_queued_B(struct nl_async_out *out);

/* Readable once the writer is broken. */
int nl_async_out_broken_fd(const struct nl_async_out *out);

/* Wait until everything is written or the deadline has passed. 0 when everything is written. */
int nl_async_out_flush(struct nl_async_out *out, uint64_t deadline_ns);

/* Call only after a successful flush: a thread blocked in write() cannot be joined. */
void nl_async_out_free(struct nl_async_out *out);
