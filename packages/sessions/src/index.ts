export * from './errors.ts'
export { checkFolder, type FoundProblem, type LogReport } from './files/check.ts'
export { createFilesStore, type FilesStoreParts } from './files/index.ts'
export { createFold, type Fold, foldSession } from './fold.ts'
export { createMemoryStore, createMemoryVault, type MemoryVault } from './memory-store.ts'
export { nodeDisk, systemTicker } from './node-world.ts'
export * from './outside.ts'
export {
  createPostgresShard,
  createPostgresStore,
  type PostgresShard,
  type PostgresShardParts,
} from './postgres/index.ts'
export { type Migrated, migratePostgres } from './postgres/migrate.ts'
export { createSealing, type Sealing, type SealingParts } from './sealing/sealing.ts'
export { DEK_BYTES, dekFromText, MAX_KEYS } from './sealing/tenant-keys.ts'
export { rowOf } from './session-row.ts'
export * from './state.ts'
export * from './store.ts'
export * from './tree/index.ts'
