/** The list of the page's section "Conformance kit", in its order. */
import type { Check } from '../check.ts'
import { commandChecks } from './commands.ts'
import { disconnectChecks } from './disconnects.ts'
import { environmentChecks } from './environment.ts'
import { fenceChecks } from './fence.ts'
import { fileWriteChecks } from './file-writes.ts'
import { fileChecks } from './files.ts'
import { jobEndChecks } from './job-ends.ts'
import { jobIdChecks } from './job-ids.ts'
import { jobOutputChecks } from './job-output.ts'
import { jobChecks } from './jobs.ts'
import { killChecks } from './kills.ts'
import { notifyChecks } from './notify.ts'
import { requestChecks } from './requests.ts'
import { secretChecks } from './secrets.ts'
import { streamChecks } from './streams.ts'
import { supervisorChecks } from './supervisors.ts'

export const allChecks: readonly Check[] = [
  ...requestChecks,
  ...commandChecks,
  ...environmentChecks,
  ...killChecks,
  ...streamChecks,
  ...disconnectChecks,
  ...jobChecks,
  ...jobIdChecks,
  ...jobOutputChecks,
  ...jobEndChecks,
  ...notifyChecks,
  ...fenceChecks,
  ...fileChecks,
  ...fileWriteChecks,
  ...secretChecks,
  ...supervisorChecks,
]
