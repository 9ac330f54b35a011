/** Entry of a plugin's own process; started by the gateway alone. */
import { runPlugin } from './plugins/plugin-runner.ts'

runPlugin()
