/** Asked from inside and read back from the engine or the kernel; the host driver promises none of it. */
import assert from 'node:assert/strict'
import { sh, testOnDrivers } from '../../test/machine.ts'
import { DEFAULT_LIMITS } from '../sandbox.ts'

const WALLED = ['docker', 'bubblewrap'] as const
const LIMITS = { ...DEFAULT_LIMITS, memoryBytes: 128 * 1024 ** 2, cpus: 1, pids: 64 }

testOnDrivers(
  'what is in force is what the spec says',
  async ({ open, signal }) => {
    const sandbox = await open({ limits: LIMITS })
    const seen = await sandbox.inspect(signal)
    assert.notEqual(seen.uid, 0)
    assert.notEqual(seen.gid, 0)
    assert.equal(seen.capabilities, '0')
    assert.equal(seen.noNewPrivileges, true)
    assert.equal(seen.seccomp, true)
    assert.equal(seen.readOnlyRoot, true)
    assert.equal(seen.network, 'none')
    const { by, memoryBytes, pids, cpus } = seen.limits
    assert.equal(memoryBytes, LIMITS.memoryBytes)
    assert.equal(pids, LIMITS.pids)
    if (by !== 'prlimit') assert.equal(cpus, LIMITS.cpus)
    assert.equal((await sh(sandbox.exec, 'ulimit -n; ulimit -c', signal)).trim(), `${LIMITS.files}\n0`)
  },
  WALLED,
)

testOnDrivers(
  'only the workspace and the scratch folders can be written',
  async ({ open, signal }) => {
    const { exec } = await open()
    const writable = await sh(
      exec,
      'for d in / /usr /usr/bin /etc /beige /beige/sock /home /dev /var /workspace /tmp /home/agent /dev/shm; do ' +
        '(: > "$d/probe") 2>/dev/null && echo "$d"; done; true',
      signal,
    )
    assert.deepEqual(writable.trim().split('\n').sort(), ['/dev/shm', '/home/agent', '/tmp', '/workspace'])
    const sizes = await sh(exec, 'df -k /tmp /home/agent | awk "NR > 1 { print \\$2 }"', signal)
    for (const kilobytes of sizes.trim().split('\n')) {
      assert.ok(Number(kilobytes) <= DEFAULT_LIMITS.tmpBytes / 1024, `${kilobytes} KiB`)
    }
  },
  WALLED,
)

testOnDrivers(
  'there is no way out and no way up',
  async ({ open, signal }) => {
    const { exec } = await open()
    const fails = async (command: string, ...args: string[]) => {
      const { exitCode } = await exec.run({ command, args, timeout_ms: 5000 }, signal)
      assert.notEqual(exitCode, 0, `${command} ${args.join(' ')}`)
    }
    assert.equal((await sh(exec, 'ls /sys/class/net 2>/dev/null || echo lo', signal)).trim(), 'lo')
    await fails('bash', '-c', 'exec 3<>/dev/tcp/1.1.1.1/53')
    await fails('bash', '-c', 'exec 3<>/dev/tcp/169.254.169.254/80')
    await fails('unshare', '--user', '--map-root-user', 'true')
    await fails('unshare', '--mount', 'true')
    await fails('mount', '-t', 'tmpfs', 'none', '/tmp')
    await fails('chown', '0:0', '/workspace')
    await fails('cat', '/proc/1/environ')
    await fails('cat', '/proc/1/mem')
    await fails('ls', '/var/run/docker.sock')
    await fails('cat', '/etc/shadow')
    await fails('sh', '-c', 'echo 1 > /proc/sys/vm/drop_caches')
  },
  WALLED,
)

testOnDrivers(
  'process 1 does not heed the sandbox',
  async ({ open, signal }) => {
    const { exec, generation } = await open()
    await sh(exec, 'for s in TERM INT HUP QUIT STOP KILL; do kill -$s 1; done; true', signal)
    assert.equal((await exec.health(signal))?.instance, generation)
  },
  WALLED,
)

testOnDrivers(
  'a fork bomb meets the limit and is swept away',
  async ({ open, signal }) => {
    const { exec } = await open({ limits: LIMITS })
    const bomb = { command: 'bash', args: ['-c', 'f() { f | f & }; f; wait; sleep 60'], timeout_ms: 1000 }
    const { timedOut } = await exec.run(bomb, signal)
    assert.equal(timedOut, true)
    const left = Number(await sh(exec, 'ls -d /proc/[0-9]* | wc -l', signal))
    assert.ok(left < 10, `${left} processes are left`)
  },
  WALLED,
)

testOnDrivers(
  'memory past the limit is refused, and the sandbox lives on',
  async ({ open, signal }) => {
    const { exec, generation } = await open({ limits: LIMITS })
    const hog = { command: 'perl', args: ['-e', '$x = "a" x (512 << 20); print length $x'] }
    const { exitCode, stdout } = await exec.run(hog, signal)
    assert.notEqual(exitCode, 0)
    assert.equal(stdout.length, 0)
    assert.equal((await exec.health(signal))?.instance, generation)
  },
  WALLED,
)
