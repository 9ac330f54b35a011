/** Limits of the tried execd: small enough that the kit can go beyond them. */

export const JOB_OUTPUT_BYTES = 16 * 1024 * 1024
