/* user_namespace: tell root of the machine from root of a user namespace. */
#ifndef NL_USER_NAMESPACE_H
#define NL_USER_NAMESPACE_H

/* True if this process is in the user namespace of the machine's start, also if the kernel has no
 * others. In any other one a capability does not reach what the kernel reserves for root of the
 * whole machine. */
int nl_in_first_user_namespace(void);

#endif
