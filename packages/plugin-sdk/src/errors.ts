import { type ErrorTable, failer } from '@beige/protocol'

export const pluginSdkErrors = {
  too_large: {
    says: 'more than {maxBytes} bytes were sent',
    retryable: false,
    advice: 'Send less, or in several calls',
  },
  unknown_tool: {
    says: 'the plugin registered no tool {tool}',
    retryable: false,
    advice: 'Register it in register()',
  },
} as const satisfies ErrorTable

export const fail = failer(pluginSdkErrors)
