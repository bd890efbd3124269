/* For faults in one function of a file: a macro that stands for another function asks where it is used. */
#ifndef TC_FAULTS_WITHIN_H
#define TC_FAULTS_WITHIN_H

#include <string.h>

#define WITHIN(name) (strcmp(__func__, #name) == 0)

#endif
