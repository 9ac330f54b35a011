/** Who is told of an end, how often and with what. */
import { notify } from './testing/expected-failures.ts'
import { proveSwitches } from './testing/prove-switches.ts'

proveSwitches(notify)
