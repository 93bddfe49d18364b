// The server
export { type RunningServer, type ServerOptions, startServer } from "./server/server.ts";
export { buildConsole } from "./console/build.ts";
export { isLoopback } from "./guard/host.ts";
