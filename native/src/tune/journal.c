#include "tune/journal.h"

#include "base/error.h"
#include "base/file_read.h"
#include "base/private_dir.h"
#include "base/request.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef SO_NETNS_COOKIE
#define SO_NETNS_COOKIE 71
#endif

/* --- entries --- */

void nl_journal_free(struct nl_journal *j)
{
	free(j->entry);
	memset(j, 0, sizeof(*j));
}

static int is_of(const struct nl_entry *e, const struct nl_knob *k, int ifindex)
{
	if (!e->ifindex || !ifindex)
		return nl_knob_same(&e->knob, k);
	return e->ifindex == ifindex && e->knob.kind == k->kind && strcmp(e->knob.name, k->name) == 0;
}

struct nl_entry *nl_journal_find(struct nl_journal *j, const struct nl_knob *k, int ifindex)
{
	for (size_t i = 0; i < j->count; i++)
		if (is_of(&j->entry[i], k, ifindex))
			return &j->entry[i];
	return NULL;
}

struct nl_entry *nl_journal_add(struct nl_journal *j)
{
	if (j->count == NL_JOURNAL_ENTRIES_MAX)
		return NULL;
	if (j->count == j->cap) {
		size_t cap = j->cap ? j->cap * 2 : 16;
		struct nl_entry *entry = realloc(j->entry, cap * sizeof(*entry));

		if (!entry)
			return NULL;
		j->entry = entry;
		j->cap = cap;
	}
	memset(&j->entry[j->count], 0, sizeof(j->entry[0]));
	return &j->entry[j->count++];
}

void nl_journal_drop(struct nl_journal *j, size_t i)
{
	j->count--;
	memmove(&j->entry[i], &j->entry[i + 1], (j->count - i) * sizeof(j->entry[0]));
}

int nl_entry_is_ours(const struct nl_entry *e, const struct nl_value *found, int at_once)
{
	const struct nl_knob_ops *ops = nl_knob_ops_of(&e->knob);
	const char *before = e->written ? e->readback : e->old;

	if (e->written && strcmp(found->exact, e->readback) == 0)
		return 1;
	if (!e->pending)
		return 0;
	return at_once || strcmp(found->text, e->wanted) == 0 ||
	       (ops->is_mixture && ops->is_mixture(found, before, e->wanted));
}

/* --- text --- */

/* Copy a value into a field. 1, 0 if the key is absent, or -1 if it is too long. */
static int take(struct nl_request *request, const char *key, char to[NL_KNOB_VALUE_MAX + 1])
{
	const char *text = nl_request_get(request, key);

	if (!text)
		return 0;
	if (strlen(text) > NL_KNOB_VALUE_MAX)
		return -1;
	memcpy(to, text, strlen(text) + 1);
	return 1;
}

/* 0, -1: invalid, -2: no memory */
static int parse_line(struct nl_journal *j, const char *line, size_t len)
{
	struct nl_request request;
	struct nl_entry e = {0}, *added;
	uint64_t ifindex = 0;
	int pending, written;

	if (nl_request_parse(&request, line, len) != NL_REQUEST_OK || strcmp(request.verb, "set") != 0 ||
	    nl_knob_parse(&e.knob, nl_request_get(&request, "knob"), nl_request_get(&request, "name"),
			  nl_request_get(&request, "interface"), NULL) ||
	    nl_request_u64(&request, "ifindex", 1, INT32_MAX, &ifindex) < 0 ||
	    take(&request, "old", e.old) != 1)
		return -1;
	pending = take(&request, "wanted", e.wanted);
	written = take(&request, "readback", e.readback);
	e.ifindex = (int)ifindex;
	e.pending = pending == 1;
	e.written = written == 1;
	if (pending < 0 || written < 0 || !(e.written || e.pending) || (ifindex && !e.knob.interface[0]) ||
	    nl_request_unread(&request) || nl_journal_find(j, &e.knob, e.ifindex))
		return -1;
	added = nl_journal_add(j);
	if (!added)
		return -2;
	*added = e;
	return 0;
}

int nl_journal_parse(struct nl_journal *out, const char *text, size_t len)
{
	memset(out, 0, sizeof(*out));
	for (size_t at = 0, size; at < len; at += size + 1) {
		const char *end = memchr(text + at, '\n', len - at);
		int code;

		size = end ? (size_t)(end - text) - at : len - at;
		code = end ? parse_line(out, text + at, size) : -1;
		if (code == -2) {
			nl_journal_free(out);
			return -1;
		}
		out->bad_lines += code != 0;
	}
	return 0;
}

/* A line under construction; `over` marks one that does not fit. */
struct line {
	char text[NL_LINE_MAX + 16];
	size_t len;
	int over;
};

__attribute__((format(printf, 2, 3))) static void add(struct line *l, const char *format, ...)
{
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(l->text + l->len, sizeof(l->text) - l->len, format, args);
	va_end(args);
	if (n < 0 || (size_t)n >= sizeof(l->text) - l->len)
		l->over = 1;
	else
		l->len += (size_t)n;
}

static void add_value(struct line *l, const char *key, const char *value)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789_-./,:+@";

	add(l, " %s=", key);
	for (; *value; value++)
		if (strchr(plain, *value))
			add(l, "%c", *value);
		else
			add(l, "%%%02X", (unsigned char)*value);
}

static void add_entry(struct line *l, const struct nl_entry *e)
{
	l->len = 0;
	l->over = 0;
	add(l, "set");
	add_value(l, "knob", nl_knob_ops_of(&e->knob)->kind);
	if (e->knob.name[0])
		add_value(l, "name", e->knob.name);
	if (e->knob.interface[0])
		add_value(l, "interface", e->knob.interface);
	if (e->ifindex)
		add(l, " ifindex=%d", e->ifindex);
	add_value(l, "old", e->old);
	if (e->pending)
		add_value(l, "wanted", e->wanted);
	if (e->written)
		add_value(l, "readback", e->readback);
	add(l, "\n");
}

/* --- the file --- */

int nl_journal_open(struct nl_journal_file *file, struct nl_err *err)
{
	uint64_t cookie = 0;
	socklen_t size = sizeof(cookie);
	struct stat st;
	char dir[64];
	int fd, code = NL_OK;

	file->dir = nl_run_dir_open(dir, 0);
	if (file->dir < 0 && errno == ENOENT)
		return NL_OK;
	if (file->dir < 0)
		return nl_fail(err, NL_REFUSED, "the directory %s for journals: %s", dir,
			       nl_private_dir_error(errno));
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || stat("/proc/self/ns/net", &st) < 0)
		code = nl_fail_errno(err, errno, "the network namespace of this process");
	else if (getsockopt(fd, SOL_SOCKET, SO_NETNS_COOKIE, &cookie, &size) < 0)
		cookie = 0;
	if (fd >= 0)
		close(fd);
	if (code) {
		nl_journal_close(file);
		return code;
	}
	snprintf(file->name, sizeof(file->name), "tune-%" PRIu64 "-%" PRIu64 ".journal",
		 (uint64_t)st.st_ino, cookie);
	snprintf(file->path, sizeof(file->path), "%s/%s", dir, file->name);
	return NL_OK;
}

void nl_journal_close(struct nl_journal_file *file)
{
	if (file->dir >= 0)
		close(file->dir);
	file->dir = -1;
}

int nl_journal_load(const struct nl_journal_file *file, struct nl_journal *out)
{
	int fd = openat(file->dir, file->name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct stat st;
	long len = -1;
	char *text = NULL;
	int err = 0;

	memset(out, 0, sizeof(*out));
	if (fd < 0)
		return file->dir < 0 || errno == ENOENT ? 0 : -1;
	if (fstat(fd, &st) < 0)
		err = errno;
	else if (st.st_size > NL_JOURNAL_BYTES_MAX)
		err = EFBIG;
	else if (!(text = malloc((size_t)st.st_size + 1)))
		err = ENOMEM;
	else if ((len = nl_read_all(fd, text, (size_t)st.st_size)) < 0)
		err = errno;
	else if (nl_journal_parse(out, text, (size_t)len) < 0)
		err = ENOMEM;
	free(text);
	close(fd);
	errno = err;
	return err ? -1 : 0;
}

static int write_entries(int fd, const struct nl_journal *j)
{
	struct line l;

	for (size_t i = 0; i < j->count; i++) {
		add_entry(&l, &j->entry[i]);
		if (l.over || l.len > NL_LINE_MAX) {
			errno = EFBIG;
			return -1;
		}
		if (nl_write_all(fd, l.text, l.len) < 0)
			return -1;
	}
	return 0;
}

int nl_journal_save(const struct nl_journal_file *file, const struct nl_journal *j)
{
	char fresh[sizeof(file->name) + 4];
	int fd, err = 0;

	if (j->count == 0)
		return unlinkat(file->dir, file->name, 0) < 0 && errno != ENOENT ? -1 : 0;
	snprintf(fresh, sizeof(fresh), "%s.new", file->name);
	/* One that a killed process left is of no use. */
	fd = openat(file->dir, fresh, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -1;
	if (write_entries(fd, j) < 0)
		err = errno;
	close(fd);
	if (!err && renameat(file->dir, fresh, file->dir, file->name) < 0)
		err = errno;
	if (err)
		unlinkat(file->dir, fresh, 0);
	errno = err;
	return err ? -1 : 0;
}
