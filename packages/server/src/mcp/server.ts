import { createMcpHandler, isLegacyRequest, McpServer } from "@modelcontextprotocol/server";
import { serveStdio, StdioServerTransport } from "@modelcontextprotocol/server/stdio";
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
  "uncaged-workflow runs durable workflows. A thread is one execution, a step one recorded result. Start a thread with " +
  "`wait`, read its failure or question with get_thread, fix the workflow's source, add it again, then retry or fork " +
  "the thread `on` the workflow. Ask the user before you answer a question with needsPerson.";

/** Options of an MCP server. */
export type McpOptions = Access & { version: string };

/** Returns a function that makes a server for each connection; all of them share one limit of calls. */
function serversFor({ version, ...access }: McpOptions): () => McpServer {
  const calls = new Calls();
  return () => {
    const server = new McpServer({ name: "uncaged-workflow", version }, { instructions });
    for (const tool of tools) {
      if (tool.kind === "reads" || !access.readOnly) addTool(server, tool, access, calls);
    }
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
  /** `readOnly` offers only the tools that change nothing. The caller checks token, Host and Origin. */
  fetch: (request: Request, options?: { readOnly?: boolean }) => Promise<Response>;
  close(): Promise<void>;
};

/** Returns a handler of HTTP requests. */
export function mcpHandler(options: Omit<McpOptions, "readOnly">): McpHandler {
  const full = httpServer(serversFor({ ...options, readOnly: false }));
  const reading = httpServer(serversFor({ ...options, readOnly: true }));
  return {
    fetch: (request, { readOnly = false } = {}) => (readOnly ? reading : full).fetch(request),
    async close() {
      await Promise.all([full.close(), reading.close()]);
    },
  };
}

function httpServer(make: () => McpServer): Pick<McpHandler, "close" | "fetch"> {
  const sessions = new Sessions(make);
  const others = createMcpHandler(make);
  return {
    async fetch(request) {
      const own = (await isLegacyRequest(request)) ? await sessions.fetch(request) : null;
      return own ?? (await others.fetch(request));
    },
    async close() {
      await Promise.all([sessions.close(), others.close()]);
    },
  };
}
