/** The conformance kit of `exec/2`: proves any endpoint, also somebody else's (design page "Exec protocol"). */
export type { NotifyPlace } from './notify-receiver.ts'
export {
  type CheckResult,
  type ConformanceOptions,
  type ConformanceReport,
  runConformance,
} from './run-conformance.ts'
