export { loadConfig } from './config/load.ts'
export { type Gateway, type GatewayParts, startGateway } from './lifecycle/gateway.ts'
export { program } from './program.ts'
