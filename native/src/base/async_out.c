#include "base/async_out.h"

#include "base/clock.h"
#include "base/files.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum { STACK_B = 256 * 1024 };

static const size_t queued_max_B = (size_t)64 << 20; /* without the large texts */

struct line {
	struct line *next;
	struct nl_json json;
	int large;
};

struct nl_async_out {
	int fd, broken_fd;
	pthread_t writer;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct line *first, **last;
	size_t queued_B; /* includes the line being written */
	size_t large_B;  /* the part of it that is large texts */
	int broken, closing;
};

static void break_off(struct nl_async_out *out)
{
	if (out->broken)
		return;
	out->broken = 1;
	(void)!write(out->broken_fd, &(uint64_t){1}, sizeof(uint64_t)); /* a fresh eventfd accepts one write */
	pthread_cond_broadcast(&out->changed);
}

static struct line *take_line(struct nl_async_out *out)
{
	struct line *line;

	while (!out->first && !out->closing)
		pthread_cond_wait(&out->changed, &out->lock);
	line = out->first;
	if (line) {
		out->first = line->next;
		if (!out->first)
			out->last = &out->first;
	}
	return line;
}

static void *write_lines(void *argument)
{
	struct nl_async_out *out = argument;
	struct line *line;

	pthread_mutex_lock(&out->lock);
	while ((line = take_line(out))) {
		int failed = out->broken;

		pthread_mutex_unlock(&out->lock);
		if (!failed)
			failed = nl_json_line(&line->json, out->fd);
		pthread_mutex_lock(&out->lock);
		out->queued_B -= line->json.len;
		if (line->large) {
			out->large_B -= line->json.len;
			pthread_cond_broadcast(&out->changed);
		}
		nl_json_free(&line->json);
		free(line);
		if (failed)
			break_off(out);
		if (!out->queued_B)
			pthread_cond_broadcast(&out->changed);
	}
	pthread_mutex_unlock(&out->lock);
	return NULL;
}

struct nl_async_out *nl_async_out_new(int fd)
{
	struct nl_async_out *out = calloc(1, sizeof(*out));
	pthread_attr_t thread;
	int errnum;

	if (!out)
		return NULL;
	out->fd = fd;
	out->last = &out->first;
	pthread_mutex_init(&out->lock, NULL);
	nl_condition_init(&out->changed);
	pthread_attr_init(&thread);
	pthread_attr_setstacksize(&thread, STACK_B);
	out->broken_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	errnum = out->broken_fd < 0 ? errno : pthread_create(&out->writer, &thread, write_lines, out);
	pthread_attr_destroy(&thread);
	if (!errnum)
		return out;
	nl_close(&out->broken_fd);
	free(out);
	errno = errnum;
	return NULL;
}

void nl_async_out_put(struct nl_async_out *out, struct nl_json *j, int large)
{
	struct line *line = calloc(1, sizeof(*line));

	pthread_mutex_lock(&out->lock);
	while (large && out->large_B && !out->broken)
		pthread_cond_wait(&out->changed, &out->lock);
	if (!line || j->failed || (!large && out->queued_B - out->large_B > queued_max_B)) {
		break_off(out);
	} else {
		line->json = *j;
		line->large = large;
		*out->last = line;
		out->last = &line->next;
		out->queued_B += j->len;
		if (large)
			out->large_B += j->len;
		*j = (struct nl_json){0};
		line = NULL;
		pthread_cond_broadcast(&out->changed);
	}
	pthread_mutex_unlock(&out->lock);
	free(line);
	nl_json_reset(j);
}

size_t nl_async_out_queued_B(struct nl_async_out *out)
{
	size_t queued_B;

	pthread_mutex_lock(&out->lock);
	queued_B = out->queued_B - out->large_B;
	pthread_mutex_unlock(&out->lock);
	return queued_B;
}

int nl_async_out_broken_fd(const struct nl_async_out *out)
{
	return out->broken_fd;
}

int nl_async_out_flush(struct nl_async_out *out, uint64_t deadline_ns)
{
	struct timespec deadline = nl_timespec(deadline_ns);
	int left;

	pthread_mutex_lock(&out->lock);
	while (out->queued_B && !out->broken)
		if (pthread_cond_timedwait(&out->changed, &out->lock, &deadline) == ETIMEDOUT)
			break;
	left = out->queued_B != 0;
	pthread_mutex_unlock(&out->lock);
	return left ? -1 : 0;
}

void nl_async_out_free(struct nl_async_out *out)
{
	pthread_mutex_lock(&out->lock);
	out->closing = 1;
	pthread_cond_broadcast(&out->changed);
	pthread_mutex_unlock(&out->lock);
	pthread_join(out->writer, NULL);
	close(out->broken_fd);
	pthread_cond_destroy(&out->changed);
	pthread_mutex_destroy(&out->lock);
	free(out);
}
