import { queryOptions } from "@tanstack/react-query";
import type * as Api from "@uncaged/workflow-server/api-types";
import { isRecord } from "./json.ts";
import { pathOf, queryOf, request, requestText } from "./request.ts";

export const workflowKeys = {
  all: ["workflows"] as const,
  one: (name: string) => ["workflows", "one", name] as const,
  bundle: (version: string) => ["workflows", "bundle", version] as const,
};

export const workflowsQuery = queryOf<Api.WorkflowRow[]>(
  [...workflowKeys.all, "list"],
  "/workflows",
);

export const workflowQuery = (name: string) =>
  queryOf<Api.Workflow>([...workflowKeys.one(name), "head"], pathOf("workflows", name));

/** The versions of a workflow, newest first, each with the number of its threads. */
export const historyQuery = (name: string) =>
  queryOf<Api.VersionRow[]>(
    [...workflowKeys.one(name), "history"],
    pathOf("workflows", name, "history"),
  );

/** One version, by name, name@hash or hash. */
export const bundleQuery = (version: string) =>
  queryOf<Api.Bundle>([...workflowKeys.bundle(version), "head"], pathOf("bundles", version));

/** Tells whether a version is a step workflow. */
export const isStepWorkflow = (bundle: Api.Bundle | undefined): boolean =>
  isRecord(bundle?.descriptor) && isRecord(bundle.descriptor.stepWorkflow);

export const formQuery = (version: string) =>
  queryOf<Api.RunForm>(
    [...workflowKeys.bundle(version), "form"],
    pathOf("bundles", version, "form"),
  );

export const sourceQuery = (version: string, file?: string) =>
  queryOptions({
    queryKey: [...workflowKeys.bundle(version), "source", file],
    queryFn: ({ signal }) =>
      requestText(pathOf("bundles", version, "source"), { query: { file }, signal }),
  });

/** The saved document of a version: an agent graph or a step workflow. */
export const documentQuery = (version: string) =>
  queryOf<Api.SavedDocument>(
    [...workflowKeys.bundle(version), "document"],
    pathOf("bundles", version, "document"),
  );

export const toolsQuery = queryOf<Api.Tool[]>(["tools"], "/tools");

export const serverQuery = queryOf<Api.Server>(["server"], "/server");

/**
 * Registers a bundle, or a source that the server builds. `file` is the file of the workflow among its imports.
 * `expects` is the version that must be current; `none` for a new name.
 */
export const addWorkflow = (
  name: string,
  file: string,
  content: Blob | Api.WorkflowFiles,
  expects?: string,
) =>
  request<Api.AddedWorkflow>(pathOf("workflows", name), {
    method: "POST",
    query: { file, expects },
    ...(content instanceof Blob ? { file: content } : { json: content }),
  });

/** Points a name at another version, by default at the previous version. */
export const rollbackWorkflow = (name: string, version?: string) =>
  request<Api.RolledBack>(pathOf("workflows", name, "rollback"), {
    method: "POST",
    json: { version },
  });

/** Replays the threads of a workflow on a version. */
export const checkWorkflow = (name: string, version: string) =>
  request<Api.VersionCheck>(pathOf("workflows", name, "check"), {
    method: "POST",
    json: { version },
  });

export const removeWorkflow = (name: string) =>
  request<{ name: string }>(pathOf("workflows", name), { method: "DELETE" });
