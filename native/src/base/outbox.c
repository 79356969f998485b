#include "base/outbox.h"

#include "base/clock.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum { STACK_B = 256 * 1024 };

static const size_t queued_max_B = (size_t)1 << 30;

struct line {
	struct line *next;
	struct nl_json json;
};

struct nl_outbox {
	int fd, broken_fd;
	pthread_t writer;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct line *first, **last;
	size_t queued_B; /* with what is being written */
	int broken, closing;
};

static void break_off(struct nl_outbox *outbox)
{
	uint64_t one = 1;
	ssize_t n;

	if (outbox->broken)
		return;
	outbox->broken = 1;
	n = write(outbox->broken_fd, &one, sizeof(one));
	(void)n; /* a fresh eventfd takes one write */
	pthread_cond_broadcast(&outbox->changed);
}

static struct line *take(struct nl_outbox *outbox)
{
	struct line *line;

	while (!outbox->first && !outbox->closing)
		pthread_cond_wait(&outbox->changed, &outbox->lock);
	line = outbox->first;
	if (line) {
		outbox->first = line->next;
		if (!outbox->first)
			outbox->last = &outbox->first;
	}
	return line;
}

static void *write_lines(void *argument)
{
	struct nl_outbox *outbox = argument;
	struct line *line;

	pthread_mutex_lock(&outbox->lock);
	while ((line = take(outbox))) {
		int failed = outbox->broken;

		pthread_mutex_unlock(&outbox->lock);
		if (!failed)
			failed = nl_json_line(&line->json, outbox->fd);
		pthread_mutex_lock(&outbox->lock);
		outbox->queued_B -= line->json.len;
		nl_json_free(&line->json);
		free(line);
		if (failed)
			break_off(outbox);
		if (!outbox->queued_B)
			pthread_cond_broadcast(&outbox->changed);
	}
	pthread_mutex_unlock(&outbox->lock);
	return NULL;
}

struct nl_outbox *nl_outbox_new(int fd)
{
	struct nl_outbox *outbox = calloc(1, sizeof(*outbox));
	pthread_condattr_t condition;
	pthread_attr_t thread;
	int errnum;

	if (!outbox)
		return NULL;
	outbox->fd = fd;
	outbox->last = &outbox->first;
	outbox->broken_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (outbox->broken_fd < 0) {
		free(outbox);
		return NULL;
	}
	pthread_mutex_init(&outbox->lock, NULL);
	pthread_condattr_init(&condition);
	pthread_condattr_setclock(&condition, CLOCK_MONOTONIC);
	pthread_cond_init(&outbox->changed, &condition);
	pthread_condattr_destroy(&condition);
	pthread_attr_init(&thread);
	pthread_attr_setstacksize(&thread, STACK_B);
	errnum = pthread_create(&outbox->writer, &thread, write_lines, outbox);
	pthread_attr_destroy(&thread);
	if (errnum) {
		close(outbox->broken_fd);
		free(outbox);
		errno = errnum;
		return NULL;
	}
	return outbox;
}

void nl_outbox_put(struct nl_outbox *outbox, struct nl_json *j)
{
	struct line *line = calloc(1, sizeof(*line));

	pthread_mutex_lock(&outbox->lock);
	if (!line || j->failed || outbox->queued_B > queued_max_B) {
		break_off(outbox);
	} else {
		line->json = *j;
		*outbox->last = line;
		outbox->last = &line->next;
		outbox->queued_B += j->len;
		nl_json_init(j);
		line = NULL;
		pthread_cond_broadcast(&outbox->changed);
	}
	pthread_mutex_unlock(&outbox->lock);
	free(line);
	nl_json_reset(j);
}

int nl_outbox_broken_fd(const struct nl_outbox *outbox)
{
	return outbox->broken_fd;
}

int nl_outbox_flush(struct nl_outbox *outbox, uint64_t deadline_ns)
{
	struct timespec deadline = nl_timespec(deadline_ns);
	int left;

	pthread_mutex_lock(&outbox->lock);
	while (outbox->queued_B && !outbox->broken)
		if (pthread_cond_timedwait(&outbox->changed, &outbox->lock, &deadline) == ETIMEDOUT)
			break;
	left = outbox->queued_B != 0;
	pthread_mutex_unlock(&outbox->lock);
	return left ? -1 : 0;
}

void nl_outbox_free(struct nl_outbox *outbox)
{
	pthread_mutex_lock(&outbox->lock);
	outbox->closing = 1;
	pthread_cond_broadcast(&outbox->changed);
	pthread_mutex_unlock(&outbox->lock);
	pthread_join(outbox->writer, NULL);
	close(outbox->broken_fd);
	pthread_cond_destroy(&outbox->changed);
	pthread_mutex_destroy(&outbox->lock);
	free(outbox);
}
