export { type ApprovalAnswer, type ApprovalGate, effectOf, type Preview } from './approval.ts'
export { CONTEXT_FILE_NAMES, type ContextFile, readContextFiles } from './context-files.ts'
export { type Diff, unifiedDiff } from './diff.ts'
export { type SandboxHands, sandboxHands } from './hands.ts'
export { createJobBook, DEFAULT_LIFETIME_MS, type JobBook, type JobSettings } from './jobs/job-book.ts'
export { recordLostJobs } from './jobs/lost-jobs.ts'
export { reportedJob } from './jobs/reported-end.ts'
export { type NumberedJob, runningJobs } from './jobs/session-notes.ts'
export { createLanes, type LaneMode, type LaneName, type Lanes, type Queued } from './lanes/lanes.ts'
export { createLocks, type Locks } from './locks.ts'
export * from './policy.ts'
export { throttledProgress } from './progress.ts'
export { type HistoryTarget, toProviderHistory } from './provider-history.ts'
export { closeRun } from './resume.ts'
export { type RunParts, type RunResult, run } from './run.ts'
export { openedSession, type Session } from './session.ts'
export { sessionHands, stillOwns } from './session-hands.ts'
export { checkOutputForm, type OutputForm, outputOf } from './structured-output.ts'
export { type ContextNotes, type SystemPromptParts, systemPrompt } from './system-prompt.ts'
export * from './tool.ts'
export {
  type CallContext,
  createPipeline,
  errorResult,
  interrupted,
  type Journal,
  type Pipeline,
  type PipelineParts,
} from './tool-pipeline.ts'
export { imageOf } from './tools/image.ts'
export { type ToolsetName, toolset } from './tools/index.ts'
