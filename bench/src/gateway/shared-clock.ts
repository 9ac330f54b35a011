/** Microseconds of the kernel's monotonic clock, which is the same for all processes of a machine. */
export function nowUs(): number {
  return Number(process.hrtime.bigint() / 1000n)
}
