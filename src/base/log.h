/* SPDX-License-Identifier: MIT */
/*
 * The agent's own log: a stable event name, then key=value. Only cmd_*.c and the agent's loop call it. Under systemd
 * (JOURNAL_STREAM set) each line carries its <level> in front and no time.
 * Thread rule: any thread.
 */
#ifndef KILN_BASE_LOG_H
#define KILN_BASE_LOG_H

enum log_level { LOG_ERROR = 3, LOG_WARN = 4, LOG_INFO = 6, LOG_DEBUG_ = 7 };

void log_line(enum log_level level, const char *event, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
#define log_error(...) log_line(LOG_ERROR, __VA_ARGS__)
#define log_warn(...) log_line(LOG_WARN, __VA_ARGS__)
#define log_info(...) log_line(LOG_INFO, __VA_ARGS__)

#endif
