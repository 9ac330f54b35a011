/** Writing of files. */
import { fileWrites } from './testing/expected-failures.ts'
import { proveSwitches } from './testing/prove-switches.ts'

proveSwitches(fileWrites)
