export * from './state.ts'
export * from './store.ts'
