import { type McpServer, ResourceTemplate } from "@modelcontextprotocol/server";
import type { Host } from "@uncaged/workflow/host";
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
    async (uri, { id }) => json(uri, await stateOf(host, await host.find(String(id)))),
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
      const { history, ...workflow } = await host.workflow(String(name));
      return json(uri, { ...workflow, history: history.slice(-mostListed) });
    },
  );
  server.registerResource(
    "docs",
    new ResourceTemplate("uncaged://docs/{+page}", { list: listPages }),
    { title: "Documents", description: "A page of the documents.", mimeType: "text/markdown" },
    (uri, { page }) => {
      const text = docs().read(String(page));
      if (text === null) throw resourceNotFound(uri.href);
      return { contents: [{ uri: uri.href, mimeType: "text/markdown", text }] };
    },
  );
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
