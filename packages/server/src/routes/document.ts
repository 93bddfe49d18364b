import { graphIn } from "@uncaged/workflow-graph";
import { documentsIn } from "@uncaged/workflow-steps/threads";
import type { Host } from "@uncaged/workflow/host";
import { noDocument } from "./errors.ts";

/** The document that a version was built from, and the texts of its child documents. */
export type SavedDocument = {
  workflow: string;
  hash: string;
  kind: "graph" | "steps";
  /** The file name, with an extension for JSON or YAML. */
  file: string;
  text: string;
  subflows: Record<string, string>;
};

/**
 * Returns the agent graph or step workflow that a version was built from, byte for byte as first saved. Texts that
 * differ only in spacing build the same version.
 * @throws WorkflowError `NO_DOCUMENT` (missing) for a version that was built from another kind of source.
 */
export async function savedDocument(host: Host, version: string): Promise<SavedDocument> {
  const { workflow, hash, descriptor, document: file } = await host.version(version);
  const steps = documentsIn(descriptor ?? {});
  const isGraph = descriptor !== null && graphIn(descriptor) !== undefined;
  if ((steps === null && !isGraph) || file === null) throw noDocument(workflow);
  const text = await host.source(hash, file);
  const parts = Object.entries(steps?.subflows ?? {});
  const subflows = Object.fromEntries(parts.map(([path, part]) => [path, JSON.stringify(part)]));
  return { workflow, hash, kind: isGraph ? "graph" : "steps", file, text, subflows };
}
