/* pages: page-aligned memory for records. */
#ifndef NL_PAGES_H
#define NL_PAGES_H

#include <stdint.h>

/* Map at least *len_B zeroed bytes; *len_B receives the length to unmap. With huge, request huge
 * pages (MADV_HUGEPAGE) and fall back to small ones. NULL with errno. */
void *nl_pages_map(uint64_t *len_B, int huge);

#endif
