import {
  INVALID_PARAMS,
  type McpServer,
  ProtocolError,
  ResourceTemplate,
} from "@modelcontextprotocol/server";
import { type Host, isWorkflowError, toErrorRecord } from "@uncaged/workflow/host";
import { docs, uriOf } from "./docs.ts";
import { resourceNotFound } from "./errors.ts";
import { clipped, jsonBytes, mostBytes } from "./size.ts";
import { stateOf } from "./state.ts";

const mostListed = 50;

/** Registers the threads, the workflows and the documents as resources. */
export function addResources(server: McpServer, host: Host): void {
  server.registerResource(
    "thread",
    new ResourceTemplate("uncaged://threads/{id}", { list: () => listThreads(host) }),
    { title: "Threads", description: "The state of a thread.", mimeType: "application/json" },
    async (uri, { id }) =>
      json(uri, await found(async () => stateOf(host, await host.find(String(id))))),
  );
  server.registerResource(
    "workflow",
    new ResourceTemplate("uncaged://workflows/{name}", { list: () => listWorkflows(host) }),
    {
      title: "Workflows",
      description: "A workflow: its versions, roles and schemas.",
      mimeType: "application/json",
    },
    async (uri, { name }) => {
      const { history, ...workflow } = await found(() => host.workflow(String(name)));
      return json(uri, { ...workflow, history: history.slice(-mostListed) });
    },
  );
  server.registerResource(
    "docs",
    new ResourceTemplate("uncaged://docs/{+page}", { list: listPages }),
    { title: "Documents", description: "A page of the documents.", mimeType: "text/markdown" },
    async (uri, { page }) => {
      const text = await found(() => {
        const read = docs().read(String(page));
        if (read === null) throw resourceNotFound(uri.href);
        return read;
      });
      return { contents: [{ uri: uri.href, mimeType: "text/markdown", text }] };
    },
  );
}

/** Returns the result of `read`. An error becomes an error of the protocol, with the code and the hint in `data`. */
async function found<T>(read: () => T | Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (error) {
    if (!isWorkflowError(error)) throw error;
    const { code, message, hint } = toErrorRecord(error);
    throw new ProtocolError(INVALID_PARAMS, message, { code, hint });
  }
}

async function listThreads(host: Host) {
  const { rows } = await host.threads({ limit: mostListed, paged: false });
  return {
    resources: rows.map(({ threadId, workflow, status, subject }) => ({
      uri: `uncaged://threads/${threadId}`,
      name: threadId,
      title: clipped(`${workflow}, ${status}: ${subject}`, 200),
      mimeType: "application/json",
    })),
  };
}

async function listWorkflows(host: Host) {
  const rows = await host.workflows();
  return {
    resources: rows.slice(0, mostListed).map(({ name, description }) => ({
      uri: `uncaged://workflows/${name}`,
      ...{ name, description: clipped(description, 200), mimeType: "application/json" },
    })),
  };
}

const listPages = () => ({
  resources: docs().pages.map(({ page, title }) => ({
    ...{ uri: uriOf(page), name: page, title, mimeType: "text/markdown" },
  })),
});

function json(uri: URL, value: object) {
  const bytes = jsonBytes(value);
  const text =
    bytes > mostBytes ? JSON.stringify({ bytes, isTooLarge: true }) : JSON.stringify(value);
  return { contents: [{ uri: uri.href, mimeType: "application/json", text }] };
}
