/** How a command is started and ends. */
import { commands } from './testing/expected-failures.ts'
import { proveSwitches } from './testing/prove-switches.ts'

proveSwitches(commands)
