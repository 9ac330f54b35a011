/** Timeouts, and answers that wait too long. */
import { timeouts } from './testing/expected-failures.ts'
import { proveSwitches } from './testing/prove-switches.ts'

proveSwitches(timeouts)
