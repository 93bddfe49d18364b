import { z } from "@hono/zod-openapi";
import * as request from "../schema/request.ts";
import * as schema from "../schema/workflow.ts";
import { orNull } from "../schema/value.ts";
import { savedDocument } from "./document.ts";
import { type Context, Routes } from "./route.ts";
import { addFiles } from "./upload.ts";

export function workflowRoutes({ host }: Context) {
  const routes = new Routes("Workflows");
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
      description: "One file as it is, or the texts of several as JSON.",
      content: {
        "application/octet-stream": { schema: z.string().openapi({ format: "binary" }) },
        "application/json": { schema: request.filesBody },
      },
    },
    answer: ["It is the current version.", schema.addedSchema],
    async run({ params: { name }, query: { file, expects }, body }, { req }) {
      // Only a body of JSON is read as one; else there are no files here.
      const { files } = body as Partial<z.infer<typeof request.filesBody>>;
      const sent = files ? Object.entries(files) : [[file, await req.raw.bytes()] as const];
      const expected = expects === "none" ? null : expects;
      return addFiles(host, name, file, new Map<string, string | Uint8Array>(sent), expected);
    },
  });
  routes.add("POST /workflows/{name}/rollback", {
    summary: "Go back to an earlier version, or to a named one",
    params: request.namePath,
    optionalBody: request.rollbackBody,
    answer: ["The name points there now.", schema.rolledBackSchema],
    run: ({ params, body }) => host.rollback(params.name, body.version),
  });
  routes.add("DELETE /workflows/{name}", {
    summary: "Remove a workflow's name; its threads stay",
    params: request.namePath,
    answer: ["The name is gone.", schema.removedSchema],
    run: ({ params }) => host.unregister(params.name),
  });
  routes.add("GET /bundles/{workflow}", {
    summary: "Show one version",
    params: request.versionPath,
    answer: ["The version.", schema.bundleSchema],
    run: ({ params }) => host.version(params.workflow),
  });
  routes.add("GET /bundles/{workflow}/descriptor", {
    summary: "The descriptor of a version",
    params: request.versionPath,
    answer: ["Null when its file can't be read.", orNull(schema.descriptorSchema)],
    run: async ({ params }) => (await host.version(params.workflow)).descriptor,
  });
  routes.add("GET /bundles/{workflow}/form", {
    summary: "What a form that starts a thread must ask for",
    params: request.versionPath,
    answer: ["The form.", schema.formSchema],
    async run({ params }) {
      const { workflow, hash, descriptor } = await host.version(params.workflow);
      const { description = "", input = null } = descriptor ?? {};
      return { workflow, hash, description, input };
    },
  });
  routes.add("GET /bundles/{workflow}/document", {
    summary: "The agent graph or step workflow that a version was built from, as it was saved",
    params: request.versionPath,
    answer: ["The document.", schema.documentSchema],
    run: ({ params }) => savedDocument(host, params.workflow),
  });
  routes.add("GET /tools", {
    summary: "The tools that agents and step workflows have without further ado",
    answer: ["By name.", z.array(schema.toolSchema)],
    run: builtInTools,
  });
  routes.add("GET /bundles/{workflow}/source", {
    summary: "The text of a version's bundle, or of a file that it was built from",
    params: request.versionPath,
    query: z.object({ file: z.string().optional().describe("One of `sources`.") }),
    answer: ["The text.", z.string(), "text/plain"],
    run: async ({ params, query }, call) =>
      call.text(await host.source(params.workflow, query.file)),
  });
  return routes.app;
}

/** The tools that are built into the bundles of documents, as a form that calls one asks for its input. */
async function builtInTools() {
  // They bring much along, which nothing else here needs.
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
