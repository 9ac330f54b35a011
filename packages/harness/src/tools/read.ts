/** The tool `read`: lines of a text with their numbers, or an image. The same under every name (H40). */
import type { FileContent } from '@beige/sandbox'
import { int, obj, opt, str } from '@earendil-works/pi-schema'
import { countText, sizeText, spilledCall } from '../output/index.ts'
import type { Tool, ToolContext, ToolResult } from '../tool.ts'
import { errorResult } from '../tool-pipeline.ts'
import { defineTool, textResult } from './define-tool.ts'
import { fileFailure } from './file-failures.ts'
import { countLinesOf, streamedWindow } from './file-window.ts'
import { type Image, imageOf, MAX_IMAGE_BASE64_BYTES, MAX_IMAGE_PIXELS } from './image.ts'
import { countLines, createLineWindow, type LineWindow, startOfLine } from './line-window.ts'
import { type Place, placeOf, tidyPath } from './paths.ts'
import { readSpill } from './read-spill.ts'
import type { SandboxFacts } from './sandbox-facts.ts'
import { type DecodedText, decodeText } from './text-of-file.ts'

const MAX_FETCHED_BYTES = 8 * 1024 * 1024 // a larger file is cut by a command in the sandbox
const MAX_LIMIT = 2000

const schema = obj({
  path: str({ description: 'File to read: absolute, or relative to the working directory' }),
  offset: opt(int({ minimum: 1, default: 1, description: 'First line, counted from 1' })),
  limit: opt(
    int({ minimum: 1, maximum: MAX_LIMIT, default: MAX_LIMIT, description: 'How many lines at most' }),
  ),
})

const DESCRIPTION =
  'Reads a file. A text is shown with line numbers, at most 2000 lines or 50 KiB at once: go on with offset. ' +
  'A PNG, JPEG, GIF or WebP is shown as an image.'

export function readTool(facts: SandboxFacts): Tool {
  return defineTool({
    name: 'read',
    effect: () => 'reads',
    description: DESCRIPTION,
    schema,
    idempotent: true,
    mode: 'shared',
    lock: input => ({ path: tidyPath(input.path), mode: 'shared' }),
    async run({ path, offset = 1, limit = MAX_LIMIT }, context) {
      const spilled = spilledCall(path)
      if (spilled !== null) return await readSpill(spilled, { offset, limit }, context)
      const placed = await placeOf(path, context, facts)
      if (!placed.ok) return placed.result
      try {
        return await readAt(placed.place, offset, limit, context)
      } catch (error) {
        return await fileFailure(error, placed.place, context)
      }
    },
  })
}

async function readAt(
  place: Place,
  offset: number,
  limit: number,
  context: ToolContext,
): Promise<ToolResult> {
  const { path } = place
  const file = await fetched(place, context)
  context.seenFiles.set(path, file.etag)
  const image = imageOf(file.bytes)
  if (image) return imageResult(path, image, file.bytes, file.size)
  const decoded = decodeText(file.bytes)
  if (decoded.kind === 'binary') {
    const text = `${path} is not text: ${decoded.what}, ${sizeText(file.size)}. Look at it with a command, e.g. file or xxd`
    return errorResult('binary', text, { path, size: file.size })
  }
  if (file.size === 0) return textResult('[empty file]', { path, total_lines: 0 })
  const isWhole = file.bytes.length >= file.size
  if (!isWhole && decoded.encoding !== 'UTF-8') {
    const text = `${path} is ${decoded.encoding} and has ${sizeText(file.size)}: over ${sizeText(MAX_FETCHED_BYTES)} only UTF-8 can be read. Convert it with the command iconv`
    return errorResult('limit', text, { path, size: file.size })
  }

  let window = fetchedWindow(decoded.bytes, offset, limit)
  if (!isWhole && !window?.isFull) {
    window = await streamedWindow(place, offset, limit, context)
    if (!window) {
      const text = `${path} has ${sizeText(file.size)}: over ${sizeText(MAX_FETCHED_BYTES)} a file is read by the command tail, which failed here`
      return errorResult('limit', text, { path, size: file.size })
    }
  }
  const isEnd = isWhole || !window?.isFull
  const totalLines = isWhole
    ? countLines(decoded.bytes)
    : isEnd && window && window.lines.length > 0
      ? window.lastLine
      : await countLinesOf(place, file.size, context)
  if (!window || window.lines.length === 0) {
    const text = `offset ${offset} is behind the end: ${path} has ${totalLines === null ? 'fewer lines' : countText(totalLines, 'line')}`
    return errorResult('invalid_input', text, { path, total_lines: totalLines })
  }
  return textResult([...window.lines, ...notes(window, offset, totalLines, decoded)].join('\n'), {
    path,
    lines: [offset, window.lastLine],
    total_lines: totalLines,
  })
}

/** Files of /proc and the like say that their size is 0, and a range of nothing is nothing: they are asked for whole. */
async function fetched({ exec, path }: Place, { signal }: ToolContext): Promise<FileContent> {
  const part = await exec.readFile(path, signal, { start: 0, end: MAX_FETCHED_BYTES })
  const file = part.size === 0 && part.bytes.length === 0 ? await exec.readFile(path, signal) : part
  return { ...file, size: Math.max(file.size, file.bytes.length) }
}

function fetchedWindow(bytes: Uint8Array, offset: number, limit: number): LineWindow | null {
  const start = startOfLine(bytes, offset)
  if (start === null) return null
  const window = createLineWindow(offset, limit)
  window.push(bytes.subarray(start))
  return window.finish()
}

function notes(window: LineWindow, offset: number, totalLines: number | null, text: DecodedText): string[] {
  const { lastLine, isFull, badBytes, controls } = window
  const found: string[] = []
  if (text.encoding !== 'UTF-8') found.push(`[decoded from ${text.encoding}]`)
  if (badBytes > 0) found.push(`[not UTF-8 and shown as U+FFFD: ${countText(badBytes, 'byte')}]`)
  if (controls > 0) found.push(`[shown as pictures, e.g. ␛: ${countText(controls, 'control character')}]`)
  if (isFull) {
    const total = totalLines === null ? 'more' : totalLines
    found.push(`[lines ${offset}-${lastLine} of ${total}; continue with offset=${lastLine + 1}]`)
  }
  return found
}

function imageResult(path: string, image: Image, bytes: Uint8Array, size: number): ToolResult {
  const { format, width, height } = image
  const dimensions = width === null || height === null ? 'of unknown size' : `${width}x${height}`
  const label = `${format} ${dimensions}, ${sizeText(size)}`
  const details = { path, image: { format, width, height, size } }
  const refused = (why: string) => errorResult('limit', `${path} is an image (${label}): ${why}`, details)
  if (format === 'bmp') return refused('BMP is not shown to models. Convert it to PNG first')
  if (width === null || height === null) return refused('its header can not be read, so it is not shown')
  if (width * height > MAX_IMAGE_PIXELS) {
    return refused(`over ${MAX_IMAGE_PIXELS / 1e6} megapixels are not shown. Scale it down first`)
  }
  const base64Bytes = Math.ceil(size / 3) * 4
  if (base64Bytes > MAX_IMAGE_BASE64_BYTES || bytes.length < size) {
    return refused(`over ${sizeText(MAX_IMAGE_BASE64_BYTES)} in base64 are not shown. Scale it down first`)
  }
  return {
    content: [
      { type: 'text', text: `[image: ${label}]` },
      { type: 'image', media_type: `image/${format}`, data: Buffer.from(bytes).toString('base64') },
    ],
    isError: false,
    outcome: 'done',
    details,
  }
}
