import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { CallOrigin } from '@beige/protocol'
import { createAgentPolicy } from './agent-policy.ts'

const policy = createAgentPolicy({ name: 'scout', tools: ['kv', 'kv.get'] })
const effect = (name: string, origin: CallOrigin) => policy.decide({ name, input: {}, origin }).effect

test('what is listed is allowed from everywhere, everything else is denied', () => {
  for (const origin of ['model', 'launcher', 'http', 'plugin', 'app', 'user', 'subagent'] as const) {
    assert.equal(effect('kv', origin), 'allow')
    for (const name of ['git', 'KV', 'kv ', 'kv.set', '', '__proto__', 'constructor', '*', 'kv*'])
      assert.equal(effect(name, origin), 'deny', `${name} from ${origin}`)
  }
})

test('core tools are for models, not for launchers', () => {
  for (const name of ['read', 'write', 'patch', 'exec']) {
    assert.equal(effect(name, 'model'), 'allow')
    assert.equal(effect(name, 'launcher'), 'deny')
  }
})

test('the denial says it in the words of the description, whatever the name holds', () => {
  const said = (name: string) => {
    const decision = policy.decide({ name, input: {}, origin: 'launcher' })
    return decision.effect === 'deny' ? decision.reason : ''
  }
  assert.equal(said('git'), "Permission denied: tool 'git' not allowed for agent 'scout'")
  assert.equal(
    said('\u001b[31m\n'),
    "Permission denied: tool '\\u{1b}[31m\\u{a}' not allowed for agent 'scout'",
  )
})
