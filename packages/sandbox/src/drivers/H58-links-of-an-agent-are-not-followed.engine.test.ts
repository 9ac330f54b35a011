/** The sandbox may write where the exec socket lies; what it puts there is never followed on the host. */
import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { type Bench, sh, testOnDrivers } from '../../test/machine.ts'
import { createExecClient } from '../client/create-exec-client.ts'

const WALLED = ['docker', 'bubblewrap'] as const

/** A socket of the host that an agent would like us to talk to: the engine's, or another agent's. */
async function decoy({ folder }: Bench) {
  const path = join(folder, 'decoy.sock')
  let connections = 0
  const server = createServer((_request, response) => response.writeHead(404).end())
  server.on('connection', () => connections++)
  await new Promise<void>(resolve => server.listen(path, resolve))
  return {
    path,
    connections: () => connections,
    [Symbol.asyncDispose]: () => new Promise<void>(resolve => server.close(() => resolve())),
  }
}

const SWAP = 'rm /beige/exec/exec.sock && ln -s "$1" /beige/exec/exec.sock'

testOnDrivers(
  'a socket that is swapped for a link: we stay on the pinned one, and open anew makes another sandbox',
  async bench => {
    await using other = await decoy(bench)
    const { open, signal, spec } = bench
    const first = await open()
    await sh(first.exec, SWAP, signal, other.path)
    assert.equal(await sh(first.exec, 'echo still here', signal), 'still here\n')
    await Promise.all(Array.from({ length: 8 }, () => first.exec.run({ command: 'true' }, signal)))
    assert.equal(other.connections(), 0)

    // The naive form follows it.
    const socketPath = join(spec().runDir, 'exec/exec.sock')
    const naive = createExecClient({ kind: 'unix', socketPath, basePath: '' })
    await naive.health(signal)
    await naive.close()
    assert.equal(other.connections(), 1)

    const second = await open()
    assert.notEqual(second.generation, first.generation)
    assert.equal(other.connections(), 1)
  },
  WALLED,
)

testOnDrivers(
  'a socket that is swapped for another real one is not adopted',
  async ({ open, signal }) => {
    const first = await open()
    const imposter = `
      use Socket; socket(my $s, PF_UNIX, SOCK_STREAM, 0); unlink $ARGV[0];
      bind($s, pack_sockaddr_un($ARGV[0])); listen($s, 5); $| = 1; print "up\\n"; sleep 60`
    const isUp = Promise.withResolvers<void>()
    const serving = first.exec
      .stream(
        { command: 'perl', args: ['-e', imposter, '/beige/exec/exec.sock'] },
        () => isUp.resolve(),
        signal,
      )
      .catch(() => undefined)
    await isUp.promise
    const second = await open()
    assert.notEqual(second.generation, first.generation)
    await first.close()
    await serving
  },
  WALLED,
)

testOnDrivers(
  'a command can not speak to its own execd',
  async ({ open, signal }) => {
    const { exec } = await open()
    const client = `
      use Socket; socket(my $s, PF_UNIX, SOCK_STREAM, 0);
      connect($s, pack_sockaddr_un("/beige/exec/exec.sock")) or exit 0;
      syswrite $s, "GET /health HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n"; sysread $s, my $answer, 4096; print $answer`
    const { stdout } = await exec.run({ command: 'perl', args: ['-e', client] }, signal)
    assert.doesNotMatch(Buffer.from(stdout).toString(), /exec\/2/)
  },
  WALLED,
)

testOnDrivers(
  'file calls see the links of the workspace as the sandbox does',
  async ({ open, signal }) => {
    const { exec } = await open()
    await sh(exec, 'ln -s /etc/shadow secret; ln -s /root/new dangling; ln -s /etc/hostname name', signal)
    await assert.rejects(exec.readFile('secret', signal), { code: 'file_not_found' })
    const { bytes } = await exec.readFile('name', signal)
    assert.equal(Buffer.from(bytes).toString(), await sh(exec, 'cat /etc/hostname', signal))
  },
  WALLED,
)
