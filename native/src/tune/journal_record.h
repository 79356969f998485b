/* journal_record: declarations shared by journal.c and journal_file.c. */
#ifndef NL_JOURNAL_RECORD_H
#define NL_JOURNAL_RECORD_H

#include <stddef.h>
#include <stdint.h>

uint32_t nl_record_crc(const char *bytes, size_t len);

#endif
