/** Runs the commands of the operator's own files. */
import { spawn } from 'node:child_process'
import type { RunCommand } from './secret-value.ts'

const MAX_BYTES = 65_536 // a key is shorter

export const nodeCommand: RunCommand = (command, env, timeoutMs) =>
  new Promise((resolve, reject) => {
    // A group of its own, so that what it started ends with it.
    const child = spawn('/bin/sh', ['-c', command], {
      env: { ...env },
      stdio: ['ignore', 'pipe', 'ignore'],
      detached: true,
    })
    const pieces: Buffer[] = []
    let size = 0
    const end = (): void => {
      if (child.pid === undefined) return
      try {
        process.kill(-child.pid, 'SIGKILL')
      } catch {
        // it is gone already
      }
    }
    const timer = setTimeout(() => {
      end()
      reject(new Error(`no answer after ${timeoutMs} ms`))
    }, timeoutMs)
    child.stdout.on('data', (piece: Buffer) => {
      size += piece.length
      if (size <= MAX_BYTES) pieces.push(piece)
    })
    child.on('error', error => {
      clearTimeout(timer)
      reject(error)
    })
    child.on('exit', end) // what it left behind would hold its output open
    child.on('close', code => {
      clearTimeout(timer)
      if (code !== 0) reject(new Error(`exit ${code ?? 'by a signal'}`))
      else if (size > MAX_BYTES) reject(new Error(`more than ${MAX_BYTES} bytes`))
      else resolve(Buffer.concat(pieces).toString('utf8'))
    })
  })
