/** What is refused, or said about itself. */
import { requests } from './testing/expected-failures.ts'
import { proveSwitches } from './testing/prove-switches.ts'

proveSwitches(requests)
