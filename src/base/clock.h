/* SPDX-License-Identifier: MIT */
/* Time. Monotonic for periods and deadlines, wall for records. */
#ifndef KILN_BASE_CLOCK_H
#define KILN_BASE_CLOCK_H

#include <stddef.h>
#include <stdint.h>

int64_t clock_mono_ns(void);
int64_t clock_wall_ns(void);
void clock_sleep_ms(uint32_t ms);

#define CLOCK_TEXT_BYTES 32
/* UTC, RFC 3339, "2026-11-21T04:55:47Z"; with milliseconds: "2026-11-21T04:55:47.123Z". */
void clock_text(int64_t wall_ns, char ret[CLOCK_TEXT_BYTES]);
void clock_text_ms(int64_t wall_ns, char ret[CLOCK_TEXT_BYTES]);
/* "0.4s", "12.3s", "2m05s", "1h02m": for people. */
void clock_duration_text(int64_t ns, char ret[CLOCK_TEXT_BYTES]);
/* "2m", "250ms", "10s", "1h", "90" (seconds) -> milliseconds; -EINVAL when it is none of these or does not fit. */
int clock_parse_duration(const char *text, uint32_t *ret_ms);

#endif
