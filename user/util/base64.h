/* SPDX-License-Identifier: BSD-2-Clause */
/* base64.h - bytes as text, four letters for three of them (RFC 4648). */
#ifndef GASPBPF_UTIL_BASE64_H
#define GASPBPF_UTIL_BASE64_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BASE64_SIZE(bytes) (((bytes) + 2) / 3 * 4)

/* BASE64_SIZE(size) letters; no NUL behind them. How many. */
size_t base64_put(char *to, const uint8_t *from, size_t size);
/* All of a text. At most length / 4 * 3 bytes; *size: how many. False: it is not whole, or has other letters in it. */
bool base64_take(const char *text, size_t length, uint8_t *to, size_t *size);

#endif
