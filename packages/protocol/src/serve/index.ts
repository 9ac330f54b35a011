/** `serve/2`: commands into a session and frames out of it (design page "Serve protocol"). */
export * from './commands.ts'
export * from './frames.ts'
export * from './json-schema.ts'
export * from './limits.ts'
export * from './rules.ts'
