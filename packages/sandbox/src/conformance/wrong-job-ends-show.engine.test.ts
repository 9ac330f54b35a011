/** Kills and keeping of jobs. */
import { jobEnds } from './testing/expected-failures.ts'
import { proveSwitches } from './testing/prove-switches.ts'

proveSwitches(jobEnds)
