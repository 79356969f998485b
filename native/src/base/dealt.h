/* dealt: lists whose items are dealt to the streams of a run in turn, separated by commas. `16*ITEM` stands for
 * 16 streams; the list begins anew after its last one. Of a checked list only; an empty one has one empty item. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Streams for which the whole list stands. */
uint64_t nl_dealt_streams(const char *list);

/* The item of a stream, without its count, and its length. */
const char *nl_dealt_item(const char *list, uint64_t stream, size_t *len);

/* The k-th stream, from 0, whose number is not 0; of an empty list k itself. One number at least is not 0. */
uint64_t nl_dealt_nth(const char *list, uint64_t k);

/* Streams of one turn of the list whose number is not 0; of an empty list one, as of its turn. */
uint64_t nl_dealt_count(const char *list);

/* The item of a stream as a number; 0 of an empty list. */
uint64_t nl_dealt_number(const char *list, uint64_t stream);
