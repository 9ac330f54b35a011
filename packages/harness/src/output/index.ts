/** What a model may see of a text, and how it is said that something is missing (design page "Harness", Output). */
export { boundText } from './bound-text.ts'
export { type Capture, createCapture, type OutputStream } from './capture.ts'
export { type ControlFilter, createControlFilter } from './control-filter.ts'
export type { Shown } from './head-and-tail.ts'
export { countText, cutText, MAX_BYTES, MAX_LINES, sizeText } from './limits.ts'
export { spillAdvice, spilledCall, spillPath } from './spill.ts'
