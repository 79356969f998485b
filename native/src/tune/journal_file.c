/* journal_file: the file operations of journal.h. */
#include "base/file_read.h"
#include "base/request.h"
#include "tune/journal.h"
#include "tune/journal_record.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef SO_NETNS_COOKIE
#define SO_NETNS_COOKIE 71
#endif

static const char suffix[] = ".journal";

/* --- place --- */

int nl_place_here(struct nl_place *out)
{
	socklen_t size = sizeof(out->cookie);
	struct stat st;
	int fd;

	memset(out, 0, sizeof(*out));
	if (stat("/proc/self/ns/net", &st) < 0)
		return -1;
	out->netns = st.st_ino;
	if (nl_file_read("/proc/sys/kernel/random/boot_id", out->boot, sizeof(out->boot)) < 0)
		return -1;
	out->boot[strcspn(out->boot, "\n")] = '\0';
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -1;
	if (getsockopt(fd, SOL_SOCKET, SO_NETNS_COOKIE, &out->cookie, &size) < 0)
		out->cookie = 0;
	close(fd);
	return 0;
}

/* Field 22 of /proc/self/stat: start time of this process, in clock ticks since boot. */
static uint64_t started_ticks(void)
{
	char text[1024];
	const char *at;

	if (nl_file_read("/proc/self/stat", text, sizeof(text)) < 0)
		return 0;
	at = strrchr(text, ')');
	for (int field = 2; at && field < 22; field++)
		at = strchr(at + 1, ' ');
	return at ? strtoull(at, NULL, 10) : 0;
}

/* --- records --- */

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

static void line_start(struct line *l, const char *verb)
{
	l->len = 0;
	l->over = 0;
	add(l, "%08x %s", 0U, verb); /* line_append() overwrites the zeros with the checksum */
}

/* The size without a torn last line, or -1 with errno. */
static off_t whole_lines(int fd, off_t size)
{
	char tail[NL_LINE_MAX + 1];
	size_t len = size < (off_t)sizeof(tail) ? (size_t)size : sizeof(tail);
	ssize_t n = pread(fd, tail, len, size - (off_t)len);
	const char *end;

	if (n < 0)
		return -1;
	end = memrchr(tail, '\n', (size_t)n);
	if ((size_t)n < len || (!end && (off_t)len < size)) {
		errno = EIO;
		return -1;
	}
	return size - (off_t)len + (end ? end - tail + 1 : 0);
}

static int line_append(struct line *l, int fd, int durable)
{
	char digits[9];
	size_t done = 0;
	off_t before = lseek(fd, 0, SEEK_END);
	off_t whole;
	int err = 0;

	if (before < 0)
		return -1;
	snprintf(digits, sizeof(digits), "%08x", nl_record_crc(l->text + 9, l->len - 9));
	memcpy(l->text, digits, 8);
	add(l, "\n");
	if (l->over || l->len > NL_LINE_MAX || before > NL_JOURNAL_BYTES_MAX - NL_LINE_MAX) {
		errno = EFBIG;
		return -1;
	}
	/* Remove the rest of an append that failed: this record would become part of its line. */
	whole = whole_lines(fd, before);
	if (whole < 0 || (whole < before && ftruncate(fd, whole) < 0) || lseek(fd, whole, SEEK_SET) < 0)
		return -1;
	while (!err && done < l->len) {
		ssize_t n = write(fd, l->text + done, l->len - done);

		if (n >= 0)
			done += (size_t)n;
		else if (errno != EINTR)
			err = errno;
	}
	if (!err && durable && fsync(fd) < 0)
		err = errno;
	if (err) {
		/* A failure here leaves a torn line, which readers skip. */
		if (ftruncate(fd, whole) < 0)
			(void)0;
		errno = err;
		return -1;
	}
	return 0;
}

int nl_journal_set(int fd, const struct nl_entry *e)
{
	struct line l;

	line_start(&l, "set");
	add(&l, " n=%" PRIu64, e->n);
	add_value(&l, "knob", nl_knob_ops_of(&e->knob)->kind);
	if (e->knob.name[0])
		add_value(&l, "name", e->knob.name);
	if (e->knob.interface[0])
		add_value(&l, "interface", e->knob.interface);
	if (e->ifindex)
		add(&l, " ifindex=%d", e->ifindex);
	add_value(&l, "old", e->old);
	add_value(&l, "wanted", e->wanted);
	return line_append(&l, fd, 1);
}

int nl_journal_wrote(int fd, const struct nl_entry *e)
{
	struct line l;

	line_start(&l, "wrote");
	add(&l, " n=%" PRIu64, e->n);
	add_value(&l, "readback", e->readback);
	return line_append(&l, fd, 0);
}

int nl_journal_done(int fd, const struct nl_entry *e, const char *status)
{
	struct line l;

	line_start(&l, "done");
	add(&l, " n=%" PRIu64, e->n);
	add_value(&l, "status", status);
	return line_append(&l, fd, 0);
}

/* --- files --- */

int nl_journal_dir(const char *path, struct nl_err *why)
{
	struct stat st;
	int made = mkdir(path, 0700) == 0;
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0 || fstat(fd, &st) < 0) {
		nl_fail(why, NL_REFUSED, "the journal's directory %s: %s", path, strerror(errno));
	} else if (st.st_uid != geteuid()) {
		nl_fail(why, NL_REFUSED, "the journal's directory %s belongs to another user", path);
	} else if (st.st_mode & 0022) {
		nl_fail(why, NL_REFUSED, "the journal's directory %s is writable by other users", path);
	} else if (made && fsync(fd) < 0) {
		nl_fail(why, NL_REFUSED, "the journal's directory %s: %s", path, strerror(errno));
	} else {
		return fd;
	}
	if (fd >= 0)
		close(fd);
	return -1;
}

static int write_open(int fd, const struct nl_place *place, const char *owner)
{
	struct line l;

	line_start(&l, "open");
	add(&l, " version=1 netns=%" PRIu64 " cookie=%" PRIu64, place->netns, place->cookie);
	add_value(&l, "boot", place->boot);
	add(&l, " pid=%ld started=%" PRIu64, (long)getpid(), started_ticks());
	add_value(&l, "owner", owner);
	return line_append(&l, fd, 1);
}

int nl_journal_create(int dir, const struct nl_place *place, const char *owner,
		      char file[NL_JOURNAL_FILE_MAX], struct nl_err *why)
{
	char fresh[NL_JOURNAL_FILE_MAX];
	int fd = -1;

	/* Write and lock it before it gets the name that readers look for. */
	for (unsigned i = 0; fd < 0 && i < 1000; i++) {
		snprintf(file, NL_JOURNAL_FILE_MAX, "%" PRIu64 "-%ld-%u%s", place->netns,
			 (long)getpid(), i, suffix);
		snprintf(fresh, sizeof(fresh), "%" PRIu64 "-%ld-%u.new", place->netns,
			 (long)getpid(), i);
		if (faccessat(dir, file, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
			continue;
		fd = openat(dir, fresh, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
		if (fd < 0 && errno != EEXIST)
			break;
	}
	if (fd < 0) {
		nl_fail(why, NL_REFUSED, "the journal cannot be created: %s", strerror(errno));
		return -1;
	}
	if (write_open(fd, place, owner) == 0 && flock(fd, LOCK_SH | LOCK_NB) == 0 &&
	    renameat(dir, fresh, dir, file) == 0) {
		if (fsync(dir) == 0)
			return fd;
		nl_fail(why, NL_REFUSED, "the journal cannot be written: %s", strerror(errno));
		unlinkat(dir, file, 0);
	} else {
		nl_fail(why, NL_REFUSED, "the journal cannot be written: %s", strerror(errno));
		unlinkat(dir, fresh, 0);
	}
	close(fd);
	return -1;
}

int nl_journal_reopen(int dir, const char *file)
{
	int fd = openat(dir, file, O_RDWR | O_NOFOLLOW | O_CLOEXEC);

	if (fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) < 0) {
		int err = errno;

		close(fd);
		errno = err;
		return -1;
	}
	return fd;
}

int nl_journal_load(int fd, struct nl_journal *out)
{
	struct stat st;
	size_t done = 0, size;
	char *text;
	int result;

	if (fstat(fd, &st) < 0)
		return -1;
	if (st.st_size > NL_JOURNAL_BYTES_MAX) {
		errno = EFBIG;
		return -1;
	}
	size = (size_t)st.st_size;
	text = malloc(size + 1);
	if (!text)
		return -1;
	while (done < size) {
		ssize_t n = pread(fd, text + done, size - done, (off_t)done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			free(text);
			return -1;
		}
		if (n == 0)
			break;
		done += (size_t)n;
	}
	result = nl_journal_parse(out, text, done);
	free(text);
	if (result < 0)
		errno = ENOMEM;
	return result;
}

int nl_journal_remove(int dir, const char *file)
{
	if (unlinkat(dir, file, 0) < 0)
		return -1;
	return fsync(dir);
}

static int is_journal(const char *file)
{
	size_t len = strlen(file);

	return len > sizeof(suffix) - 1 && len < NL_JOURNAL_FILE_MAX &&
	       strcmp(file + len - (sizeof(suffix) - 1), suffix) == 0;
}

/* The namespace's inode in the name of a journal; 0 if the name has none. */
static uint64_t netns_of(const char *file)
{
	char *end;
	unsigned long long inode = strtoull(file, &end, 10);

	return *end == '-' ? inode : 0;
}

enum stale { STALE, NOT_STALE, UNREADABLE };

/* STALE: *fd is open and locked exclusively. UNREADABLE: *damage says why. */
static enum stale open_stale(int dir, const char *file, int *fd, const char **damage)
{
	struct stat st;

	*fd = openat(dir, file, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (*fd < 0 && errno == ENOENT)
		return NOT_STALE;
	if (*fd < 0 || fstat(*fd, &st) < 0) {
		*damage = strerror(errno);
		return UNREADABLE;
	}
	if (!S_ISREG(st.st_mode) || st.st_uid != geteuid() || st.st_nlink > 1) {
		*damage = "it is not a regular file of this user with one name";
		return UNREADABLE;
	}
	if (flock(*fd, LOCK_EX | LOCK_NB) == 0)
		/* A file unlinked between listing and lock was handled by another process. */
		return fstat(*fd, &st) == 0 && st.st_nlink == 0 ? NOT_STALE : STALE;
	if (errno == EWOULDBLOCK)
		return NOT_STALE;
	*damage = strerror(errno);
	return UNREADABLE;
}

static const char *damage_of(const struct nl_journal *j)
{
	if (!j->has_open)
		return "its first record is missing or damaged";
	return j->bad_lines ? "some of its records are damaged" : NULL;
}

/* True if it was stale, and of this namespace. */
static int visit(int dir, const char *file, const struct nl_place *here,
		 void (*found)(void *context, const struct nl_stale *stale), void *context)
{
	struct nl_stale stale = {.file = file, .fd = -1, .match = NL_PLACE_HERE};
	struct nl_journal j;
	enum stale code = open_stale(dir, file, &stale.fd, &stale.damage);
	uint64_t netns = netns_of(file);
	int reported = 0;

	if (code == STALE && nl_journal_load(stale.fd, &j) < 0) {
		stale.damage = strerror(errno);
		code = UNREADABLE;
	} else if (code == STALE) {
		stale.journal = &j;
		stale.damage = damage_of(&j);
		if (j.has_open)
			stale.match = nl_place_compare(&j.place, here);
	}
	/* The name has the namespace of a file without a readable first record. */
	if (code != NOT_STALE && (!stale.journal || !j.has_open) && netns && netns != here->netns)
		stale.match = NL_PLACE_ELSEWHERE;
	if (code != NOT_STALE && stale.match != NL_PLACE_ELSEWHERE) {
		found(context, &stale);
		reported = 1;
	}
	if (stale.journal)
		nl_journal_free(&j);
	if (stale.fd >= 0)
		close(stale.fd);
	return reported;
}

int nl_journal_stale(int dir, const struct nl_place *here,
		     void (*found)(void *context, const struct nl_stale *stale), void *context)
{
	int listing = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct dirent *d;
	int count = 0;
	DIR *dp;

	if (listing < 0)
		return -1;
	dp = fdopendir(listing);
	if (!dp) {
		close(listing);
		return -1;
	}
	while ((d = readdir(dp)) != NULL)
		if (is_journal(d->d_name))
			count += visit(dir, d->d_name, here, found, context);
	closedir(dp);
	return count;
}
