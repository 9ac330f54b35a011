export { createExecClient, type ExecClientOptions } from './client/create-exec-client.ts'
export { parseEndpoint } from './client/endpoint-of.ts'
export * from './conformance/index.ts'
export {
  chooseDriver,
  type DriverChoice,
  type DriverOptions,
  driverOptionsFrom,
  type NamedDriver,
  openDriver,
} from './drivers/choose-driver.ts'
export { HOST_USR } from './drivers/docker/image.ts'
export { NO_INSTANCE } from './drivers/remote.ts'
export { MADE_BY_ROOT, makeWorkspace } from './drivers/workspace.ts'
export { type SandboxErrorCode, sandboxErrors } from './errors.ts'
export * from './exec-client.ts'
export { findExecd } from './execd-file.ts'
export * from './job-calls.ts'
export * from './sandbox.ts'
