/* must not compile: conversion */
#include "attempt.h"

void attempt(const hands *h) { TC_LOG(h->log, TC_EVENT_ENROLLED, tc_log_seconds("x", h->units[0])); }
