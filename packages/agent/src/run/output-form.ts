/** `--output-schema`: JSON in one word, or a file with it. */
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { checkOutputForm, type OutputForm } from '@beige/harness'
import { messageOf } from '@beige/protocol'
import { fail } from '../errors.ts'
import type { RawOptions } from '../options.ts'
import type { ProcessWorld } from '../process-world.ts'

/** Null where none is asked for. Throws `bad_value` for a schema that can not be used: nothing has begun then. */
export function outputFormFrom(
  { outputSchema, outputDescription: description }: RawOptions,
  { env, cwd }: Pick<ProcessWorld, 'env' | 'cwd'>,
): OutputForm | null {
  const given = outputSchema ?? env.AI_AGENT_OUTPUT_SCHEMA
  if (given === undefined || given === '') return null
  try {
    const text = given.trimStart().startsWith('{') ? given : readFileSync(resolve(cwd, given), 'utf8')
    const form: OutputForm = {
      schema: JSON.parse(text),
      ...(description === undefined ? {} : { description }),
    }
    checkOutputForm(form)
    return form
  } catch (error) {
    const expected = 'a JSON Schema, or the name of a file with one'
    throw fail('bad_value', { name: '--output-schema', reason: messageOf(error), expected }, error)
  }
}
