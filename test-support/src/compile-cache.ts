/** The variable that lets a program started from source share the test run's compile cache: half of its start is reading. */
export function compileCache(): Record<string, string> {
  const { NODE_COMPILE_CACHE: folder } = process.env
  return folder ? { NODE_COMPILE_CACHE: folder } : {}
}
