/** Bytes in and out of a command, and its variables. */
import { bytes } from './testing/expected-failures.ts'
import { proveSwitches } from './testing/prove-switches.ts'

proveSwitches(bytes)
