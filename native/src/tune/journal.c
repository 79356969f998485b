#include "tune/journal.h"

#include "base/error.h"
#include "base/files.h"
#include "base/request.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef SO_NETNS_COOKIE
#define SO_NETNS_COOKIE 71
#endif

void nl_journal_free(struct nl_journal *j)
{
	free(j->entry);
	j->entry = NULL;
	j->count = j->cap = 0;
}

struct nl_entry *nl_journal_find(struct nl_journal *j, const struct nl_knob *k, int ifindex)
{
	for (struct nl_entry *e = j->entry; e && e < j->entry + j->count; e++)
		if (e->ifindex && ifindex ? e->ifindex == ifindex && e->knob.ops == k->ops &&
						    strcmp(e->knob.name, k->name) == 0
					  : nl_knob_same(&e->knob, k))
			return e;
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
	const struct nl_knob_ops *ops = e->knob.ops;
	const char *before = e->written ? e->readback : e->old;

	if (e->written && strcmp(found->exact, e->readback) == 0)
		return 1;
	if (!e->pending)
		return 0;
	return at_once || strcmp(found->text, e->wanted) == 0 ||
	       (ops->is_mixture && ops->is_mixture(found, before, e->wanted));
}

/* Copy a value into a field. 1, 0 if the key is absent, or -1 if it is too long. */
static int journal_take_value(struct nl_request *request, const char *key, char to[NL_KNOB_VALUE_MAX + 1])
{
	const char *text = nl_request_get(request, key);

	if (!text)
		return 0;
	if (strlen(text) > NL_KNOB_VALUE_MAX)
		return -1;
	memcpy(to, text, strlen(text) + 1);
	return 1;
}

static int parse_line(struct nl_journal *j, const char *line, size_t len)
{
	struct nl_request request;
	struct nl_entry e = {0}, *added;
	uint64_t ifindex = 0;

	errno = EBADMSG;
	if (nl_request_parse(&request, line, len) != NL_REQUEST_OK || strcmp(request.verb, "set") != 0 ||
	    nl_knob_parse(&e.knob, nl_request_get(&request, "knob"), nl_request_get(&request, "name"),
			  nl_request_get(&request, "interface"), NULL) ||
	    nl_request_u64(&request, "ifindex", 1, INT32_MAX, &ifindex) < 0 ||
	    journal_take_value(&request, "old", e.old) != 1)
		return -1;
	e.ifindex = (int)ifindex;
	e.pending = journal_take_value(&request, "wanted", e.wanted);
	e.written = journal_take_value(&request, "readback", e.readback);
	if (e.pending < 0 || e.written < 0 || !(e.written || e.pending) || (ifindex && !e.knob.interface[0]) ||
	    nl_request_unread(&request) || nl_journal_find(j, &e.knob, e.ifindex))
		return -1;
	errno = ENOMEM;
	added = nl_journal_add(j);
	if (!added)
		return -1;
	*added = e;
	return 0;
}

int nl_journal_parse(struct nl_journal *j, const char *text, size_t len)
{
	nl_journal_free(j);
	for (size_t at = 0, size; at < len; at += size + 1) {
		const char *end = memchr(text + at, '\n', len - at);

		size = end ? (size_t)(end - text) - at : len - at;
		errno = EBADMSG;
		if (!end || parse_line(j, text + at, size) < 0) {
			nl_journal_free(j);
			return -1;
		}
	}
	return 0;
}

static void put_value(FILE *to, const char *key, const char *value)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789_-./,:+@";

	fprintf(to, " %s=", key);
	for (; *value; value++)
		fprintf(to, strchr(plain, *value) ? "%c" : "%%%02X", (unsigned char)*value);
}

static void put_entry(FILE *to, const struct nl_entry *e)
{
	fprintf(to, "set");
	put_value(to, "knob", e->knob.ops->kind);
	if (e->knob.name[0])
		put_value(to, "name", e->knob.name);
	if (e->knob.interface[0])
		put_value(to, "interface", e->knob.interface);
	if (e->ifindex)
		fprintf(to, " ifindex=%d", e->ifindex);
	put_value(to, "old", e->old);
	if (e->pending)
		put_value(to, "wanted", e->wanted);
	if (e->written)
		put_value(to, "readback", e->readback);
	fputc('\n', to);
}

const char *nl_journal_note(void)
{
	enum { FIRST_PID_NAMESPACE = 0xEFFFFFFC }; /* its inode in every kernel */
	struct stat st;

	if (!nl_knob_in_first_namespace() || stat("/proc/self/ns/pid", &st) || st.st_ino == (ino_t)FIRST_PID_NAMESPACE)
		return NULL;
	return "this is a container with the network of its machine: if it ends before the revert, the guard "
	       "and the journal in its /run are gone, and the settings stay changed";
}

enum { BOOT_PART = 8 }; /* characters of a boot's name that a file has */

int nl_journal_open(struct nl_journal *j, struct nl_err *err)
{
	char boot[NL_BOOT_MAX];
	uint64_t cookie = 0;
	socklen_t size = sizeof(cookie);
	struct stat st;
	char dir[64];
	int fd;

	j->dir = nl_run_dir_open(dir, 0);
	if (j->dir < 0 && errno == ENOENT)
		return NL_OK;
	if (j->dir < 0)
		return nl_fail(err, NL_REFUSED, "the directory %s for journals: %s", dir,
			       nl_private_dir_error(errno));
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || stat("/proc/self/ns/net", &st) < 0) {
		nl_fail_errno(err, errno, "the network namespace of this process");
		nl_close(&fd);
		nl_journal_close(j);
		return err->code;
	}
	if (getsockopt(fd, SOL_SOCKET, SO_NETNS_COOKIE, &cookie, &size) < 0)
		cookie = 0;
	close(fd);
	nl_boot_id(boot);
	snprintf(j->name, sizeof(j->name), "tune-%" PRIu64 "-%" PRIu64 "-%.*s.journal", (uint64_t)st.st_ino,
		 cookie, BOOT_PART, boot[0] ? boot : "0");
	snprintf(j->path, sizeof(j->path), "%s/%s", dir, j->name);
	return NL_OK;
}

void nl_journal_close(struct nl_journal *j)
{
	nl_journal_free(j);
	nl_close(&j->dir);
}

/* The part of a journal's or a state's name that is of its boot, tune-INODE-COOKIE-BOOT.KIND; NULL for
 * another file. */
static const char *boot_of(const char *name, size_t *len)
{
	const char *boot = strncmp(name, "tune-", 5) == 0 ? name + 5 : NULL, *end;

	for (int part = 0; boot && part < 2; part++)
		if ((boot = strchr(boot, '-')))
			boot++;
	end = boot ? strchr(boot, '.') : NULL;
	if (!end || (strcmp(end, ".journal") != 0 && strcmp(end, ".state") != 0))
		return NULL;
	*len = (size_t)(end - boot);
	return boot;
}

void nl_journal_forget_boots(const struct nl_journal *j)
{
	size_t own_len = 0, len = 0;
	const char *own = boot_of(j->name, &own_len), *boot;
	int fd = j->dir < 0 ? -1 : openat(j->dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *files = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *file;

	if (!files) {
		nl_close(&fd);
		return;
	}
	while (own && (file = readdir(files)))
		if ((boot = boot_of(file->d_name, &len)) && (len != own_len || strncmp(boot, own, len) != 0))
			unlinkat(j->dir, file->d_name, 0);
	closedir(files);
}

int nl_journal_load(struct nl_journal *j)
{
	int fd = openat(j->dir, j->name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct stat st;
	long len = -1;
	char *text = NULL;
	int err = 0;

	nl_journal_free(j);
	if (fd < 0)
		return j->dir < 0 || errno == ENOENT ? 0 : -1;
	if (fstat(fd, &st) < 0)
		err = errno;
	else if (st.st_size > NL_JOURNAL_BYTES_MAX)
		err = EFBIG;
	else if (!(text = malloc((size_t)st.st_size + 1)))
		err = ENOMEM;
	else if ((len = nl_read_all(fd, text, (size_t)st.st_size)) < 0 ||
		 nl_journal_parse(j, text, (size_t)len) < 0)
		err = errno;
	free(text);
	close(fd);
	errno = err;
	return err ? -1 : 0;
}

/* The entries as text, which the caller frees; NULL with errno. */
static char *text_of(const struct nl_journal *j, size_t *len)
{
	char *text = NULL;
	FILE *to = open_memstream(&text, len);
	int err = to ? 0 : ENOMEM;

	for (size_t i = 0; !err && i < j->count; i++) {
		long start = ftell(to);

		put_entry(to, &j->entry[i]);
		if (ftell(to) - start > NL_LINE_MAX) /* nl_request_parse would not take it */
			err = EFBIG;
	}
	if (to && fclose(to) != 0 && !err)
		err = ENOMEM;
	if (!err)
		return text;
	free(text);
	errno = err;
	return NULL;
}

int nl_journal_save(const struct nl_journal *j)
{
	size_t len;
	char *text;
	int failed, err;

	if (j->count == 0)
		return unlinkat(j->dir, j->name, 0) < 0 && errno != ENOENT ? -1 : 0;
	text = text_of(j, &len);
	if (!text)
		return -1;
	failed = nl_file_replace(j->dir, j->name, text, len, 0);
	err = errno;
	free(text);
	errno = err;
	return failed;
}
