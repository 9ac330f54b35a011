export * from './branches.ts'
export { type ForkPoint, forkBodies, forkPoint, forkSession } from './fork.ts'
export {
  type BesideNode,
  type EntryNode,
  nodesSince,
  readTree,
  type SessionTree,
  type TreeNode,
} from './session-tree.ts'
