import { resolve } from "node:path";
import { graphSource } from "@uncaged/workflow-graph/source";
import { planSource } from "@uncaged/workflow-plan/source";
import { findIn, stepsSource } from "@uncaged/workflow-steps/source";
import { documentsOf } from "@uncaged/workflow-steps/threads";
import { isWorkflowError, toErrorRecord } from "@uncaged/workflow/host";
import { z } from "zod";
import { addFiles, checkFiles, withUpload } from "../routes/upload.ts";
import { clipped, jsonBytes } from "./size.ts";
import { type Access, defineTool } from "./tool.ts";

const text = z.string();

const workflowSchema = z.strictObject({
  name: text,
  hash: text,
  description: text,
  versions: z.int(),
  addedAt: text,
  input: z.unknown().optional().describe("The JSON Schema of its params, if it has one."),
  inputBytes: z.int().optional().describe("The size of a schema that is too long for a list."),
});

const mostList = 20_000;
const mostInput = 2_000;

export const listWorkflows = defineTool({
  name: "list_workflows",
  title: "List workflows",
  description:
    "Lists the registered workflows by name, with their descriptions and the schemas of their params.",
  input: z.strictObject({
    name: text.optional().describe("Only this workflow, with its whole schema."),
    cursor: text.max(80).optional(),
  }),
  output: z.strictObject({ workflows: z.array(workflowSchema), next: text.nullable() }),
  kind: "reads",
  async run({ host }, { name, cursor }) {
    // Reports an unknown name.
    if (name !== undefined) await host.workflow(name);
    const rows = (await host.workflows()).filter(
      (row) =>
        (name === undefined || row.name === name) && (cursor === undefined || row.name > cursor),
    );
    const workflows: z.infer<typeof workflowSchema>[] = [];
    let bytes = 0;
    for (const { timestamp, description, ...row } of rows) {
      const input = (await host.descriptor(row.hash))?.input;
      const inputBytes = jsonBytes(input);
      const isShort = inputBytes <= (name === undefined ? mostInput : mostList - 2_000);
      const shown = {
        ...{ ...row, description: clipped(description, 500) },
        addedAt: new Date(timestamp).toISOString(),
        ...(input !== undefined && (isShort ? { input } : { inputBytes })),
      };
      bytes += jsonBytes(shown);
      if (bytes > mostList && workflows.length > 0) {
        return {
          data: { workflows, next: workflows.at(-1)?.name ?? null },
          text: namesOf(workflows),
        };
      }
      workflows.push(shown);
    }
    return { data: { workflows, next: null }, text: namesOf(workflows) };
  },
});

const namesOf = (workflows: readonly { name: string; description: string }[]): string =>
  workflows.length === 0
    ? "no workflows; add one with add_workflow"
    : workflows.map(({ name, description }) => clipped(`${name}: ${description}`, 120)).join("\n");

const sourceFields = {
  file: text
    .min(1)
    .max(4_096)
    .describe(
      "The path of the workflow's file on the server's machine: .ts, .json, .yaml or .esm.js. With `files`, the path of one of the files.",
    ),
  files: z
    .record(text, text)
    .optional()
    .describe("The texts of the file and of the files that it imports, by relative path."),
};

/** Returns the kinds of documents that a file may be. */
function sourcesFor({ host, cwd }: Access, warn: (warning: string) => void) {
  const find = findIn(cwd, async (name) => {
    const { hash } = await host.resolve(name);
    return documentsOf(hash, await host.descriptor(hash));
  });
  return [graphSource(warn), planSource(warn), stepsSource(warn, { find })];
}

const filesIn = (files: Record<string, string>) => new Map(Object.entries(files));

export const addWorkflow = defineTool({
  name: "add_workflow",
  title: "Add a workflow",
  description:
    "Builds a workflow and registers it under a name. A later version replaces the current one; started threads keep " +
    "theirs, and uncaged-workflow rollback brings an earlier version back.",
  input: z.strictObject({
    name: text.min(1).max(64),
    ...sourceFields,
    expected: text
      .nullable()
      .optional()
      .describe("The hash that must be current; null for a new name. Otherwise VERSION_CONFLICT."),
  }),
  output: z.strictObject({
    name: text,
    hash: text,
    unchanged: z.boolean(),
    warnings: z.array(text),
  }),
  kind: "adds",
  isIdempotent: true,
  async run(access, { name, file, files, expected }) {
    const { host, cwd } = access;
    const warnings: string[] = [];
    const onWarning = (warning: string) => void warnings.push(warning);
    const added = files
      ? await addFiles(host, name, file, filesIn(files), expected)
      : await host.register(name, resolve(cwd, file), {
          ...{ sources: sourcesFor(access, onWarning), onWarning, expected },
        });
    const { hash, unchanged } = added;
    const all = "warnings" in added ? (added.warnings as string[]) : warnings;
    const data = {
      name,
      hash,
      unchanged,
      warnings: all.slice(0, 50).map((one) => clipped(one, 300)),
    };
    return { data, text: `${name} ${hash}${unchanged ? ", unchanged" : ""}` };
  },
});

export const validateWorkflow = defineTool({
  name: "validate_workflow",
  title: "Check a workflow",
  description:
    "Builds a workflow and checks it as add_workflow does, without registering it. Returns its problems with file and line.",
  input: z.strictObject(sourceFields),
  output: z.strictObject({
    valid: z.boolean(),
    hash: text.optional(),
    code: text.optional(),
    problems: z.array(text),
    warnings: z.array(text),
    hint: text.optional(),
  }),
  kind: "adds",
  isIdempotent: true,
  async run(access, { file, files }) {
    const warnings: string[] = [];
    const onWarning = (warning: string) => void warnings.push(clipped(warning, 300));
    const sources = sourcesFor(access, onWarning);
    const store = (path: string, within?: string) =>
      access.host.store(path, { sources, onWarning, ...(within !== undefined && { within }) });
    try {
      const { hash } = files ? await stored(files) : await store(resolve(access.cwd, file));
      const data = { valid: true, hash, problems: [], warnings: warnings.slice(0, 30) };
      return { data, text: `valid: ${hash}` };
    } catch (error) {
      if (!isWorkflowError(error)) throw error;
      const { code, message, hint, details = [message] } = toErrorRecord(error);
      const problems = details.slice(0, 40).map((one) => clipped(one, 300));
      const data = {
        ...{ valid: false, code, problems, warnings: warnings.slice(0, 30) },
        ...(hint !== undefined && { hint }),
      };
      return { data, text: problems.join("\n") };
    }
    async function stored(sent: Record<string, string>) {
      const all = filesIn(sent);
      checkFiles(all, file);
      return await withUpload(file, all, (path) => store(path, path.slice(0, -file.length)));
    }
  },
});
