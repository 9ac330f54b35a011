/** A command as it came off the wire: its names, the schema of its type, the fields that nobody will look at. */
import {
  COMMAND_TYPES,
  type CommandOf,
  type CommandType,
  commandSchemas,
  isCommandType,
  nearest,
} from '@beige/protocol'
import { compile, type Validator } from '@earendil-works/pi-schema'
import { fail } from '../errors.ts'

// Compiled when first needed: a process hears few of the commands.
const validators = new Map<CommandType, Validator<unknown>>()

function validatorOf(type: CommandType): Validator<unknown> {
  const validator = validators.get(type) ?? compile(commandSchemas[type])
  validators.set(type, validator)
  return validator
}

function isCommand<T extends CommandType>(type: T, input: unknown): input is CommandOf<T> {
  return validatorOf(type).check(input)
}

/** Throws `bad_request` with the place and what was expected there. */
export function parse<T extends CommandType>(type: T, input: unknown): CommandOf<T> {
  if (isCommand(type, input)) return input
  const [first] = validatorOf(type).errors(input)
  throw fail('bad_request', { reason: first ? `${first.path || '/'} ${first.message}` : 'not a command' })
}

/** Names the fields that nobody will look at. */
export function warningsOf(type: string, input: unknown): string[] {
  if (!isCommandType(type) || typeof input !== 'object' || input === null) return []
  const known: object = commandSchemas[type].properties ?? {}
  return Object.keys(input)
    .filter(name => !Object.hasOwn(known, name))
    .slice(0, 16)
    .map(name => `unknown field ${name.slice(0, 64)} was ignored`)
}

export function unknownCommand(type: string) {
  const near = nearest(type, [...COMMAND_TYPES])
  return fail('unknown_command', { type, known: (near.length > 0 ? near : COMMAND_TYPES).join(', ') })
}

export function namesOf(input: unknown): { id?: string; command: string } {
  if (typeof input !== 'object' || input === null) return { command: '' }
  const command = 'type' in input && typeof input.type === 'string' ? input.type.slice(0, 128) : ''
  return { command, ...('id' in input && typeof input.id === 'string' ? { id: input.id.slice(0, 128) } : {}) }
}
