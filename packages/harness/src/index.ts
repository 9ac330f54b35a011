export * from './policy.ts'
export * from './tool.ts'
