import { z } from "@hono/zod-openapi";
import { checkJson, checkVersion } from "@uncaged/workflow/internal";
import * as request from "../schema/request.ts";
import * as schema from "../schema/workflow.ts";
import { orNull } from "../schema/value.ts";
import { savedDocument } from "./document.ts";
import { type Context, Routes } from "./route.ts";
import { addFiles } from "./upload.ts";

export function workflowRoutes({ host, env }: Context) {
  const routes = new Routes("Workflows");
  let last: Promise<unknown> = Promise.resolve();
  /** Runs one check at a time, because each check loads a bundle in a separate process. */
  const inTurn = <T>(check: () => Promise<T>): Promise<T> => {
    const next = last.then(check);
    last = next.catch(() => undefined);
    return next;
  };
  routes.add("GET /workflows", {
    summary: "List the workflows",
    answer: ["By name.", z.array(schema.workflowRowSchema)],
    run: () => host.workflows(),
  });
  routes.add("GET /workflows/{name}", {
    summary: "Show a workflow: its versions and its descriptor",
    params: request.namePath,
    answer: ["The workflow.", schema.workflowSchema],
    run: ({ params }) => host.workflow(params.name),
  });
  routes.add("GET /workflows/{name}/history", {
    summary: "List the versions of a workflow, newest first",
    params: request.namePath,
    answer: [
      "The versions, each with the number of its threads.",
      z.array(schema.versionRowSchema),
    ],
    run: ({ params }) => host.history(params.name),
  });
  routes.add("POST /workflows/{name}", {
    summary: "Register a bundle, or build a source and register it",
    params: request.namePath,
    query: request.addQuery,
    upload: {
      description: "One file as is, or the texts of several files as JSON.",
      content: {
        "application/octet-stream": { schema: z.string().openapi({ format: "binary" }) },
        "application/json": { schema: request.filesBody },
      },
    },
    answer: ["The new current version.", schema.addedSchema],
    async run({ params: { name }, query: { file, expects }, body }, { req }) {
      // Bodies of other content types have no `files`.
      const { files } = body as Partial<z.infer<typeof request.filesBody>>;
      const sent = files ? Object.entries(files) : [[file, await req.raw.bytes()] as const];
      const expected = expects === "none" ? null : expects;
      return addFiles(host, name, file, new Map<string, string | Uint8Array>(sent), expected);
    },
  });
  routes.add("POST /workflows/{name}/rollback", {
    summary: "Roll back to an earlier version",
    params: request.namePath,
    optionalBody: request.rollbackBody,
    answer: ["The current version.", schema.rolledBackSchema],
    run: ({ params, body }) => host.rollback(params.name, body.version),
  });
  routes.add("POST /workflows/{name}/check", {
    summary: "Replay a workflow's threads on another version, without running a step",
    params: request.namePath,
    body: request.checkBody,
    answer: [
      "The result for each thread: whether the thread continues, waits, has ended or diverges.",
      schema.checkSchema,
    ],
    run: ({ params: { name }, body: { version, threads } }, { req }) =>
      inTurn(async () => {
        await host.workflow(name);
        const { signal } = req.raw;
        const options = { env, signal, ...(threads !== undefined && { threads }) };
        return checkJson(await checkVersion(host, name, version, options));
      }),
  });
  routes.add("DELETE /workflows/{name}", {
    summary: "Remove a workflow's name; its threads remain",
    params: request.namePath,
    answer: ["The name is removed.", schema.removedSchema],
    run: ({ params }) => host.unregister(params.name),
  });
  routes.add("GET /bundles/{workflow}", {
    summary: "Show one version",
    params: request.versionPath,
    answer: ["The version.", schema.bundleSchema],
    run: ({ params }) => host.version(params.workflow),
  });
  routes.add("GET /bundles/{workflow}/descriptor", {
    summary: "Show the descriptor of a version",
    params: request.versionPath,
    answer: ["The descriptor; null if the bundle can't be read.", orNull(schema.descriptorSchema)],
    run: async ({ params }) => (await host.version(params.workflow)).descriptor,
  });
  routes.add("GET /bundles/{workflow}/form", {
    summary: "Show the form for starting a thread",
    params: request.versionPath,
    answer: ["The form.", schema.formSchema],
    async run({ params }) {
      const { workflow, hash, descriptor } = await host.version(params.workflow);
      const { description = "", input = null } = descriptor ?? {};
      return { workflow, hash, description, input };
    },
  });
  routes.add("GET /bundles/{workflow}/document", {
    summary: "Show the agent graph or step workflow that a version was built from",
    params: request.versionPath,
    answer: ["The document.", schema.documentSchema],
    run: ({ params }) => savedDocument(host, params.workflow),
  });
  routes.add("GET /tools", {
    summary: "List the built-in tools of agents and step workflows",
    answer: ["By name.", z.array(schema.toolSchema)],
    run: builtInTools,
  });
  routes.add("GET /bundles/{workflow}/source", {
    summary: "Show the text of a version's bundle, or of a file that it was built from",
    params: request.versionPath,
    query: z.object({ file: z.string().optional().describe("One of `sources`.") }),
    answer: ["The text.", z.string(), "text/plain"],
    run: async ({ params, query }, call) =>
      call.text(await host.source(params.workflow, query.file)),
  });
  return routes.app;
}

/** Returns the built-in tools of documents, with the schemas of their inputs for forms. */
async function builtInTools() {
  // Loaded on demand, because the tools import many modules.
  const { graphTools } = await import("@uncaged/workflow-graph/agents");
  const registry = graphTools();
  const { signal } = new AbortController();
  const tools = await registry.all({ cwd: "/", env: {}, signal });
  return tools.map(({ name, description, input_schema, timeoutMs }) => ({
    name,
    description,
    input: input_schema,
    timeoutMs: timeoutMs ?? registry.limits.timeoutMs,
  }));
}
