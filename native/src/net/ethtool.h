/* ethtool: what a device says of itself through SIOCETHTOOL. */
#ifndef NL_ETHTOOL_H
#define NL_ETHTOOL_H

/* Ask for what data begins with. 0 or more what the call returned, or -errno. */
int nl_ethtool(const char *interface, void *data);

/* Whether TCP hands the interface packets of many segments, which the device or the last step
 * before it cuts; also where that cannot be told, since it is so on almost every device. */
int nl_ethtool_segments(const char *interface);

#endif
