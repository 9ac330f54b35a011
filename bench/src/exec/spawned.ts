/** Subjects that start a process for each command: on the host, and the Docker command line. */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { COMMAND, type Subject } from './subject.ts'

const run = promisify(execFile)

export const hostSpawn: Subject = {
  name: 'host-spawn',
  call: async signal => (await run(COMMAND[0], COMMAND.slice(1), { signal })).stdout,
}

export function dockerExecCli(container: string): Subject {
  return {
    name: 'docker-exec-cli',
    call: async signal => (await run('docker', ['exec', container, ...COMMAND], { signal })).stdout,
  }
}
