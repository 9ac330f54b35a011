/** How long an abort may take at its 99th percentile: without a process that ignores SIGTERM, and with one. */
export const PLAIN_P99_MS = 300
export const STUBBORN_P99_MS = 2500
