#include "../module/backend/slob_stack.c"
