import {
  createMcpHandler,
  isLegacyRequest,
  type McpHttpHandler,
  McpServer,
} from "@modelcontextprotocol/server";
import { serveStdio, StdioServerTransport } from "@modelcontextprotocol/server/stdio";
import { type Caller, type Role, roles } from "../guard/role.ts";
import { diffThreads, threadCost } from "./compare.ts";
import { answerThread, controlThread, forkThread, retryThread } from "./control.ts";
import { searchDocs } from "./docs.ts";
import { addResources } from "./resources.ts";
import { Sessions } from "./sessions.ts";
import { getThread, searchThreads, startThread } from "./threads.ts";
import { type Access, addTool, Calls } from "./tool.ts";
import { addWorkflow, listWorkflows, validateWorkflow } from "./workflows.ts";

const tools = [
  listWorkflows,
  startThread,
  getThread,
  searchThreads,
  answerThread,
  controlThread,
  forkThread,
  retryThread,
  diffThreads,
  addWorkflow,
  validateWorkflow,
  threadCost,
  searchDocs,
];

const instructions =
  "This server runs durable workflows. A thread is one execution, a step one recorded result. Start a thread with " +
  "`wait`, read its failure or question with get_thread, fix the workflow's source, add it again, then retry or fork " +
  "the thread `on` the workflow. Ask the user before you answer a question with needsPerson.";

/** Options of an MCP server. Clients of the server get the tools of `role`. */
export type McpOptions = Access & { version: string; role: Role };

/** Returns a function that makes a server for each connection; all of them share one limit of calls. */
function serversFor({ version, role, ...access }: McpOptions): () => McpServer {
  const calls = new Calls();
  const allowed = roles.slice(0, roles.indexOf(role) + 1);
  const offered = tools.filter(({ kind, role: needed = kind === "reads" ? "read" : "operate" }) =>
    allowed.includes(needed),
  );
  return () => {
    const server = new McpServer({ name: "uncaged-workflow", version }, { instructions });
    for (const tool of offered) addTool(server, tool, access, calls);
    addResources(server, access.host);
    return server;
  };
}

/** Serves MCP over stdin and stdout until the client closes them, or the signal is aborted. */
export async function serveMcp(options: McpOptions, signal: AbortSignal): Promise<void> {
  const closed = Promise.withResolvers<void>();
  class Transport extends StdioServerTransport {
    // Also called when the client sends a message that is too large.
    override async close(): Promise<void> {
      await super.close();
      closed.resolve();
    }
  }
  // Each result that waits for the client to read has a listener.
  process.stdout.setMaxListeners(0);
  const server = serveStdio(serversFor(options), { transport: new Transport() });
  signal.addEventListener("abort", () => void server.close(), { once: true });
  await closed.promise;
  await server.close();
}

/** Serves MCP over HTTP. */
export type McpHandler = {
  /** Serves a request whose token, Host and Origin are checked. Answers record the name of the token. */
  fetch: (request: Request, caller: Pick<Caller, "name" | "role">) => Promise<Response>;
  close(): Promise<void>;
};

/** Returns a handler of HTTP requests. */
export function mcpHandler(options: Omit<McpOptions, "role">): McpHandler {
  // A session keeps its tools, so each role has separate sessions.
  const handlerFor = (role: Role) => httpServer(serversFor({ ...options, role }));
  const handlers = {
    read: handlerFor("read"),
    answer: handlerFor("answer"),
    operate: handlerFor("operate"),
  };
  return {
    fetch: (request, { name, role }) =>
      handlers[role].fetch(
        request,
        name === null ? {} : { authInfo: { clientId: name, scopes: [role], token: "" } },
      ),
    async close() {
      await Promise.all(Object.values(handlers).map((handler) => handler.close()));
    },
  };
}

function httpServer(make: () => McpServer): Pick<McpHttpHandler, "close" | "fetch"> {
  const sessions = new Sessions(make);
  const others = createMcpHandler(make);
  return {
    async fetch(request, options) {
      const own = (await isLegacyRequest(request)) ? await sessions.fetch(request, options) : null;
      return own ?? (await others.fetch(request, options));
    },
    async close() {
      await Promise.all([sessions.close(), others.close()]);
    },
  };
}
