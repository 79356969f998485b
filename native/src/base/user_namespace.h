/* user_namespace: whether root here is root of the machine. */
#ifndef NL_USER_NAMESPACE_H
#define NL_USER_NAMESPACE_H

/* True if this process is in the user namespace of the machine's start, also if the kernel has no
 * others. In any other one a capability does not reach what the kernel reserves for root of the
 * whole machine. */
int nl_in_first_user_namespace(void);

#endif
