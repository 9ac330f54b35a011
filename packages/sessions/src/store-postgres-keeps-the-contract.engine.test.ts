/** Against a server of its own; in real time, since leases go by the clock of the database. */
import { after, before } from 'node:test'
import { type PostgresServer, postgresMissing, startPostgres } from '@beige/test-support'
import { storeContract } from '../test/store-contract.ts'
import { postgresSetting } from '../test/store-settings.ts'

const skip = postgresMissing()
let server: PostgresServer | null = null

before(async () => {
  if (!skip) server = await startPostgres()
})
after(() => server?.[Symbol.asyncDispose]())

for (const isSealed of [false, true]) {
  storeContract(
    isSealed ? 'postgres, sealed' : 'postgres',
    async () => {
      if (!server) throw new TypeError('the server did not start')
      return postgresSetting(await server.newDatabase(), isSealed)
    },
    { skip },
  )
}
