#include "tune/knob_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int nl_knob_file_read(int dir, const char *path, struct nl_value *out)
{
	int fd = openat(dir, path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	char text[4097];
	ssize_t n;
	int err;

	if (fd < 0)
		return errno;
	n = read(fd, text, sizeof(text) - 1);
	err = n < 0 ? errno : 0;
	close(fd);
	if (err)
		return err;
	text[n] = '\0';
	nl_knob_fold(text);
	if (strlen(text) > NL_KNOB_VALUE_MAX || n == sizeof(text) - 1)
		return EMSGSIZE;
	for (const char *c = text; *c; c++)
		if ((unsigned char)*c < 32 || (unsigned char)*c > 126)
			return EILSEQ;
	memcpy(out->text, text, strlen(text) + 1);
	memcpy(out->exact, text, strlen(text) + 1);
	return 0;
}

int nl_knob_file_write(int dir, const char *path, const char *text)
{
	char line[NL_KNOB_VALUE_MAX + 2];
	int len = snprintf(line, sizeof(line), "%s\n", text);
	int fd = openat(dir, path, O_WRONLY | O_TRUNC | O_NOFOLLOW | O_CLOEXEC);
	ssize_t n;
	int err = 0;

	if (fd < 0)
		return errno;
	n = write(fd, line, (size_t)len);
	if (n < 0)
		err = errno;
	else if (n != len)
		err = EIO;
	close(fd);
	return err;
}

enum nl_knob_access nl_knob_file_access(int dir, const char *path, const char *mount, struct nl_err *why)
{
	if (faccessat(dir, path, W_OK, AT_EACCESS) == 0)
		return NL_KNOB_WRITABLE;
	if (errno == EROFS) {
		nl_fail(why, NL_REFUSED, "%s is mounted read-only here", mount);
		return NL_KNOB_READ_ONLY;
	}
	nl_fail(why, NL_REFUSED, "no privilege: the file is not writable for this user");
	return NL_KNOB_NO_PRIVILEGE;
}
