export { createExecClient, type ExecClientOptions } from './client/create-exec-client.ts'
export { type SandboxErrorCode, sandboxErrors } from './errors.ts'
export * from './exec-client.ts'
export * from './sandbox.ts'
