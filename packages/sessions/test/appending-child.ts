/** Started as a process of its own: appends without end, printing each id once it is acknowledged. */
import { newSessionId, systemClock, systemRandom } from '@beige/protocol'
import { createFilesStore } from '../src/files/index.ts'
import { prompt, sessionId } from './sample-records.ts'

const [root, given] = process.argv.slice(2)
const store = createFilesStore({ root: root ?? '.', clock: systemClock, random: systemRandom })
const id = given === undefined ? newSessionId(systemClock, systemRandom) : sessionId(given)
const log = (await store.exists(id)) ? await store.open(id) : await store.create({ id, cwd: '/w' })
process.stdout.write(`epoch ${log.epoch}\n`)

async function client(name: string): Promise<never> {
  for (let count = 0; ; count++) {
    const key = `${log.epoch}-${name}-${count}`
    await log.append(prompt(key, null, 'x'.repeat((count * 37) % 500)))
    process.stdout.write(`${key}\n`)
  }
}
await Promise.all(['a', 'b', 'c', 'd'].map(client))
