export type { ApproveSettings } from './approvals.ts'
export { answerHostCommand, isHostCommand } from './commands/host-commands.ts'
export { refusal } from './commands/index.ts'
export { UNSUPPORTED } from './commands/table.ts'
export { type Connection, connect } from './connection.ts'
export { hostErrors, serveCode } from './errors.ts'
export {
  createExecNotify,
  EXEC_NOTIFY_PATH,
  type ExecNotify,
  type ExecNotifyAnswer,
  type ExecNotifyParts,
  type ExecNotifyRequest,
} from './exec-notify/exec-notify.ts'
export { type Kept, keepInLog } from './exec-notify/keep-in-log.ts'
export {
  mintNotifyToken,
  NOTIFY_KEY_BYTES,
  type NotifyClaims,
  notifyKeyOf,
  openNotifyToken,
} from './exec-notify/notify-token.ts'
export { createHost, type HostParts, type NewSession, type SessionHost } from './host.ts'
export { type LifecycleEvent, type LifecycleSink, lifecycleEvents } from './lifecycle.ts'
export type { LiveSession, RunInFlight } from './live-session.ts'
export { type RunSummary, runSummary } from './run-summary.ts'
export type { MakeSetup, SessionSetup } from './setup.ts'
export type { AttachAsk } from './viewers/attach-ask.ts'
export type { Unnumbered } from './viewers/frames.ts'
export type { Attachment, Viewer } from './viewers/viewer.ts'
