/* Which sources the library was made of: one that is older than they are is not used (see library.py). */
#ifndef MULTIVALID_FINGERPRINT
#define MULTIVALID_FINGERPRINT "unknown"
#endif

const char *multivalid_fingerprint(void) { return MULTIVALID_FINGERPRINT; }
