export * from './places.ts'
export * from './schema.ts'
