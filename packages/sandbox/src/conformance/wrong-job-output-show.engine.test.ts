/** What is held of a job, and its input. */
import { jobOutput } from './testing/expected-failures.ts'
import { proveSwitches } from './testing/prove-switches.ts'

proveSwitches(jobOutput)
