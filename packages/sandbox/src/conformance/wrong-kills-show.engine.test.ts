/** Whether a kill reaches everything, and an answer waits for it. */
import { kills } from './testing/expected-failures.ts'
import { proveSwitches } from './testing/prove-switches.ts'

proveSwitches(kills)
