import { storeContract } from '../test/store-contract.ts'
import { storeSettings } from '../test/store-settings.ts'

for (const [name, start] of Object.entries(storeSettings)) storeContract(name, start)
