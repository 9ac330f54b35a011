/** Ids and instances. */
import { jobIds } from './testing/expected-failures.ts'
import { proveSwitches } from './testing/prove-switches.ts'

proveSwitches(jobIds)
