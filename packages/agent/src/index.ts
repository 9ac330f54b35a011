export { type AgentOptions, agentOptions, type RawOptions } from './options.ts'
export type { ProcessWorld } from './process-world.ts'
export { program } from './program.ts'
