/* ethtool: queries through SIOCETHTOOL. */
#ifndef NL_ETHTOOL_H
#define NL_ETHTOOL_H

/* Execute the command at the start of data. The call's result, 0 or more, or -errno. */
int nl_ethtool(const char *interface, void *data);

/* True if TCP passes down multi-segment packets (TSO or GSO), or if unknown, as on almost every
 * device. */
int nl_ethtool_segments(const char *interface);

#endif
