#include "base/user_namespace.h"

#include <sys/stat.h>

/* The inode that every kernel gives the first one (PROC_USER_INIT_INO). */
#define FIRST_INODE 0xEFFFFFFDu

int nl_in_first_user_namespace(void)
{
	struct stat st;

	return stat("/proc/self/ns/user", &st) < 0 || st.st_ino == FIRST_INODE;
}
