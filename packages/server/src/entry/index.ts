// The server
export { type RunningServer, type ServerOptions, startServer } from "../server/server.ts";
export { buildConsole } from "../console/console.ts";
export type { OpenPlans } from "../plans/plan-rows.ts";
export { isLoopback } from "../guard/guard.ts";
