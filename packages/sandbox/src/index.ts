export * from './exec-client.ts'
export * from './sandbox.ts'
