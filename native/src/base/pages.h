/* pages: memory that whole records lie in. */
#ifndef NL_PAGES_H
#define NL_PAGES_H

#include <stdint.h>

/* Map at least *len_B bytes, zeroed; *len_B becomes what has to be unmapped. With huge the
 * kernel is asked for large pages (MADV_HUGEPAGE); where it has none, small ones serve.
 * NULL with errno. */
void *nl_pages_map(uint64_t *len_B, int huge);

#endif
