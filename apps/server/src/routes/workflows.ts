import { createRoute, z } from "@hono/zod-openapi";
import type { VersionView } from "@uncaged/workflow/host";
import { addQuery, filesBody, namePath, rollbackBody, versionPath } from "../schema/request.ts";
import {
  addedSchema,
  bundleSchema,
  descriptorSchema,
  formSchema,
  removedSchema,
  rolledBackSchema,
  versionRowSchema,
  workflowRowSchema,
  workflowSchema,
} from "../schema/workflow.ts";
import { answers, type Context, optionalBody, routes, sends } from "./route.ts";
import { addFiles, addUpload } from "./upload.ts";

const tags = ["Workflows"];
const bytes = z.string().openapi({ format: "binary" });

const list = createRoute({
  method: "get",
  path: "/workflows",
  tags,
  summary: "List the workflows",
  responses: answers("By name.", z.array(workflowRowSchema)),
});

const show = createRoute({
  method: "get",
  path: "/workflows/{name}",
  tags,
  summary: "Show a workflow: its versions and its descriptor",
  request: { params: namePath },
  responses: answers("The workflow.", workflowSchema),
});

const history = createRoute({
  method: "get",
  path: "/workflows/{name}/history",
  tags,
  summary: "List the versions of a workflow, newest first",
  request: { params: namePath },
  responses: answers(
    "The versions, each with the number of its threads.",
    z.array(versionRowSchema),
  ),
});

const add = createRoute({
  method: "post",
  path: "/workflows/{name}",
  tags,
  summary: "Register a bundle, or build a source and register it",
  request: {
    params: namePath,
    query: addQuery,
    body: {
      description: "One file as it is, or the texts of several as JSON.",
      content: {
        "application/octet-stream": { schema: bytes },
        "application/json": { schema: filesBody },
      },
    },
  },
  responses: answers("It is the current version.", addedSchema),
});

const rollback = createRoute({
  method: "post",
  path: "/workflows/{name}/rollback",
  tags,
  summary: "Go back to an earlier version, or to a named one",
  request: { params: namePath, ...optionalBody(rollbackBody) },
  responses: answers("The name points there now.", rolledBackSchema),
});

const remove = createRoute({
  method: "delete",
  path: "/workflows/{name}",
  tags,
  summary: "Remove a workflow's name; its threads stay",
  request: { params: namePath },
  responses: answers("The name is gone.", removedSchema),
});

const bundle = createRoute({
  method: "get",
  path: "/bundles/{workflow}",
  tags,
  summary: "Show one version",
  request: { params: versionPath },
  responses: answers("The version.", bundleSchema),
});

const descriptor = createRoute({
  method: "get",
  path: "/bundles/{workflow}/descriptor",
  tags,
  summary: "The descriptor of a version",
  request: { params: versionPath },
  responses: answers("Null when its file can't be read.", descriptorSchema.nullable()),
});

const form = createRoute({
  method: "get",
  path: "/bundles/{workflow}/form",
  tags,
  summary: "What a form that starts a thread must ask for",
  request: { params: versionPath },
  responses: answers("The form.", formSchema),
});

const source = createRoute({
  method: "get",
  path: "/bundles/{workflow}/source",
  tags,
  summary: "The text of a version's bundle, or of a file that it was built from",
  request: {
    params: versionPath,
    query: z.object({ file: z.string().optional().openapi({ description: "One of `sources`." }) }),
  },
  responses: sends("The text.", "text/plain", z.string()),
});

export function workflowRoutes({ host }: Context) {
  return routes()
    .openapi(list, async (c) => c.json(await host.workflows(), 200))
    .openapi(show, async (c) => c.json(await host.workflow(c.req.valid("param").name), 200))
    .openapi(history, async (c) => c.json(await host.history(c.req.valid("param").name), 200))
    .openapi(add, async (c) => {
      const { name } = c.req.valid("param");
      const { file } = c.req.valid("query");
      // Only a body of JSON is read as one; else there are no files here.
      const { files } = c.req.valid("json") as Partial<z.infer<typeof filesBody>>;
      const added = files
        ? await addFiles(host, name, file, new Map(Object.entries(files)))
        : await addUpload(host, name, file, c.req.raw);
      return c.json(added, 200);
    })
    .openapi(rollback, async (c) => {
      const { version } = c.req.valid("json");
      return c.json(await host.rollback(c.req.valid("param").name, version), 200);
    })
    .openapi(remove, async (c) => {
      return c.json(await host.unregister(c.req.valid("param").name), 200);
    })
    .openapi(bundle, async (c) => {
      return c.json(await host.version(c.req.valid("param").workflow), 200);
    })
    .openapi(descriptor, async (c) => {
      return c.json((await host.version(c.req.valid("param").workflow)).descriptor, 200);
    })
    .openapi(form, async (c) => {
      const version = await host.version(c.req.valid("param").workflow);
      return c.json(formOf(version), 200);
    })
    .openapi(source, async (c) => {
      const { file } = c.req.valid("query");
      return c.text(await host.source(c.req.valid("param").workflow, file), 200);
    });
}

function formOf(version: VersionView) {
  const { workflow, hash } = version;
  const { description = "", input = null } = version.descriptor ?? {};
  return { workflow, hash, description, input };
}
