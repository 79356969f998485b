/* knob_ethtool: what the kinds of knobs share that go through SIOCETHTOOL. */
#ifndef NL_KNOB_ETHTOOL_H
#define NL_KNOB_ETHTOOL_H

#include "tune/knob.h"

/* The code of a failed call; `lacks` says what a device without it has not. */
enum nl_knob_code nl_knob_ethtool_failed(const struct nl_knob *k, const char *call,
					 const char *lacks, int errnum, struct nl_err *why);

/* True if text is on or off. */
int nl_knob_is_switch(const char *text);

#endif
