/** The files that implement an injected interface of the outside and so may use clock, randomness, files, net or environment. */
export const OUTSIDE_FILES: readonly string[] = [
  'packages/models/src/logins/private-json-file.ts',
  'packages/models/src/logins/scoped-fetch.ts',
  'packages/models/src/node-disk.ts',
  'packages/models/src/system-fetch.ts',
  'packages/sessions/src/node-world.ts',
  'packages/sessions/src/postgres/migration-files.ts',
]
