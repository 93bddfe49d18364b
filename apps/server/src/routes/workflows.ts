import { createRoute, z } from "@hono/zod-openapi";
import {
  historyOf,
  listWorkflows,
  readVersionText,
  removeWorkflow,
  rollbackWorkflow,
  showVersion,
  showWorkflow,
} from "@uncaged/workflow/host";
import { addQuery, filesBody, namePath, rollbackBody, versionPath } from "../shape/request.ts";
import {
  addedShape,
  bundleShape,
  descriptorShape,
  formShape,
  removedShape,
  rolledBackShape,
  versionRowShape,
  workflowRowShape,
  workflowShape,
} from "../shape/workflow.ts";
import { answers, optionalBody, routes, sends } from "./answers.ts";
import type { Context } from "./context.ts";
import { formOf } from "./form.ts";
import { addFiles, addUpload } from "./upload.ts";

const tags = ["Workflows"];
const bytes = z.string().openapi({ format: "binary" });

const list = createRoute({
  method: "get",
  path: "/workflows",
  tags,
  summary: "List the workflows",
  responses: answers("By name.", z.array(workflowRowShape)),
});

const show = createRoute({
  method: "get",
  path: "/workflows/{name}",
  tags,
  summary: "Show a workflow: its versions and its descriptor",
  request: { params: namePath },
  responses: answers("The workflow.", workflowShape),
});

const history = createRoute({
  method: "get",
  path: "/workflows/{name}/history",
  tags,
  summary: "List the versions of a workflow, newest first",
  request: { params: namePath },
  responses: answers(
    "The versions, each with the number of its threads.",
    z.array(versionRowShape),
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
  responses: answers("It is the current version.", addedShape),
});

const rollback = createRoute({
  method: "post",
  path: "/workflows/{name}/rollback",
  tags,
  summary: "Go back to an earlier version, or to a named one",
  request: { params: namePath, ...optionalBody(rollbackBody) },
  responses: answers("The name points there now.", rolledBackShape),
});

const remove = createRoute({
  method: "delete",
  path: "/workflows/{name}",
  tags,
  summary: "Remove a workflow's name; its threads stay",
  request: { params: namePath },
  responses: answers("The name is gone.", removedShape),
});

const bundle = createRoute({
  method: "get",
  path: "/bundles/{workflow}",
  tags,
  summary: "Show one version",
  request: { params: versionPath },
  responses: answers("The version.", bundleShape),
});

const descriptor = createRoute({
  method: "get",
  path: "/bundles/{workflow}/descriptor",
  tags,
  summary: "What a version says of itself",
  request: { params: versionPath },
  responses: answers("Null when its file can't be read.", descriptorShape.nullable()),
});

const form = createRoute({
  method: "get",
  path: "/bundles/{workflow}/form",
  tags,
  summary: "What a form that starts a thread must ask for",
  request: { params: versionPath },
  responses: answers("The form.", formShape),
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

/** The routes of workflows, and of their versions. */
export function workflowRoutes({ root }: Context) {
  return routes()
    .openapi(list, async (c) => c.json(await listWorkflows(root), 200))
    .openapi(show, async (c) => c.json(await showWorkflow(root, c.req.valid("param").name), 200))
    .openapi(history, async (c) => c.json(await historyOf(root, c.req.valid("param").name), 200))
    .openapi(add, async (c) => {
      const { name } = c.req.valid("param");
      const { file } = c.req.valid("query");
      // Only a body of JSON is read as one; else there are no files here.
      const { files } = c.req.valid("json") as Partial<z.infer<typeof filesBody>>;
      const added = files
        ? await addFiles(root, name, file, new Map(Object.entries(files)))
        : await addUpload(root, name, file, c.req.raw);
      return c.json(added, 200);
    })
    .openapi(rollback, async (c) => {
      const { version } = c.req.valid("json");
      return c.json(await rollbackWorkflow(root, c.req.valid("param").name, version), 200);
    })
    .openapi(remove, async (c) => {
      return c.json(await removeWorkflow(root, c.req.valid("param").name), 200);
    })
    .openapi(bundle, async (c) => {
      return c.json(await showVersion(root, c.req.valid("param").workflow), 200);
    })
    .openapi(descriptor, async (c) => {
      return c.json((await showVersion(root, c.req.valid("param").workflow)).descriptor, 200);
    })
    .openapi(form, async (c) => {
      const version = await showVersion(root, c.req.valid("param").workflow);
      return c.json(formOf(version), 200);
    })
    .openapi(source, async (c) => {
      const { file } = c.req.valid("query");
      return c.text(await readVersionText(root, c.req.valid("param").workflow, file), 200);
    });
}
