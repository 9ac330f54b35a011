/** `beige prompt <agent> "<message>"`: one prompt, shown as it runs; to a pipe the final text; with `--json` the frames. */
import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'
import { createTranscript, visible } from '@beige/client'
import { type Frame, frame } from '@beige/protocol'
import { compile } from '@earendil-works/pi-schema'
import { askGateway, errorOf, fieldOf, streamGateway } from './control-client.ts'
import { EXIT, homeOf, type World } from './world.ts'

const DEFAULT_WIDTH = 80
const checkFrame = compile(frame)

type PromptOptions = { session?: string; json?: boolean }

export async function promptCommand(
  world: World,
  agent: string,
  message: string,
  options: PromptOptions,
): Promise<number> {
  const layout = homeOf(world)
  const key = options.session ?? `api:${agent}:default`
  const gone = new AbortController()
  const response = await streamGateway(
    layout,
    `/api/agents/${encodeURIComponent(agent)}/prompt`,
    { message, stream: true, sessionKey: key },
    gone.signal,
  )
  if (response.statusCode !== 200) {
    const error = errorOf(parsed(await text(response)))
    world.stderr.write(`${visible(`${error.message}. ${error.advice}`)}\n`)
    return EXIT.failed
  }
  let interrupts = 0
  const forget = world.onSignal(() => {
    if (++interrupts > 1) world.exit(130)
    askGateway(layout, 'POST', `/api/sessions/${encodeURIComponent(key)}/abort`, {}).catch(() => gone.abort())
  })
  const view = viewOf(world, agent, options.json ?? false)
  let answer: Extract<Frame, { type: 'response' }> | null = null
  try {
    for await (const line of createInterface({ input: response, crlfDelay: Number.POSITIVE_INFINITY })) {
      const value = parsed(line)
      if (!checkFrame.check(value)) continue
      view.frame(value, line)
      if (value.type === 'response' && value.command === 'prompt') answer = value
    }
  } catch (error) {
    // The connection broke in the middle; below it is told what that means.
    if (!response.destroyed) throw error
  } finally {
    forget()
  }
  view.end(answer)
  if (answer?.success === false && answer.code === 'busy')
    world.stderr.write(`Stop it: beige sessions abort ${key}   or speak in another one: --session <key>\n`)
  if (answer === null) {
    world.stderr.write(
      `the gateway went away before the run had ended; session ${key} goes on when it is back: beige gateway start\n`,
    )
    return EXIT.failed
  }
  return interrupts > 0 ? 130 : answer.success ? EXIT.done : EXIT.failed
}

type View = {
  frame(frame: Frame, line: string): void
  end(answer: Extract<Frame, { type: 'response' }> | null): void
}

function viewOf(world: World, agent: string, json: boolean): View {
  const { stdout, stderr } = world
  const problem = (answer: Extract<Frame, { type: 'response' }> | null) => {
    if (answer !== null && !answer.success)
      stderr.write(`${visible(`${answer.error ?? ''}${answer.advice ? `. ${answer.advice}` : ''}`)}\n`)
  }
  if (json) return { frame: (_, line) => void stdout.write(`${line}\n`), end: () => undefined }
  if (stdout.isTTY !== true)
    return {
      frame: () => undefined,
      end: answer => {
        const said = fieldOf(answer?.data, 'text')
        if (answer?.success && typeof said === 'string' && said !== '')
          stdout.write(said.endsWith('\n') ? said : `${said}\n`)
        problem(answer)
      },
    }
  const live = world.env.TERM !== 'dumb'
  const transcript = createTranscript({
    terminal: {
      write: part => stdout.write(part),
      get width() {
        return stdout.columns ?? DEFAULT_WIDTH
      },
      color: live && (world.env.NO_COLOR ?? '') === '',
      live,
    },
    clock: world.clock,
    speaker: agent,
  })
  return {
    frame: shown => {
      if (shown.type === 'event') transcript.event(shown.event)
    },
    end: answer => {
      transcript.end()
      problem(answer)
    },
  }
}

function parsed(line: string): unknown {
  try {
    const value: unknown = JSON.parse(line)
    return value
  } catch {
    return null
  }
}
