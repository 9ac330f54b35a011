export * from './transcript/amounts.ts'
export { factsOf, lineOf, subjectOf } from './transcript/tool-line.ts'
export {
  createTranscript,
  type Terminal,
  type Transcript,
  type TranscriptOptions,
} from './transcript/transcript.ts'
export { oneLine, visible } from './transcript/visible.ts'
