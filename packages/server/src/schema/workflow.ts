import { z } from "@hono/zod-openapi";
import { hash, milliseconds, number, orNull, text } from "./value.ts";

const jsonSchema = z.union([z.boolean(), z.record(text, z.unknown())]);

export const descriptorSchema = z
  .looseObject({
    description: text,
    roles: z.record(text, z.looseObject({ description: text, schema: jsonSchema })),
  })
  .openapi("Descriptor");

export const workflowRowSchema = z
  .object({ name: text, hash, timestamp: milliseconds, description: text, versions: number })
  .openapi("WorkflowRow");

export const workflowSchema = z
  .object({
    name: text,
    hash,
    timestamp: milliseconds,
    history: z.array(z.object({ hash, timestamp: milliseconds })),
    descriptor: orNull(descriptorSchema),
  })
  .openapi("Workflow");

export const versionRowSchema = z
  .object({
    hash,
    sha256: text
      .nullable()
      .describe("The SHA-256 of the bundle in hexadecimal, null where none is recorded yet."),
    timestamp: milliseconds,
    current: z.boolean(),
    threads: number,
  })
  .openapi("VersionRow");

export const addedSchema = z
  .object({
    name: text,
    hash,
    unchanged: z.boolean(),
    warnings: z
      .array(text)
      .describe("Findings of a document's check that do not prevent it from running."),
  })
  .openapi("AddedWorkflow");

export const rolledBackSchema = z
  .object({ name: text, hash, previous: text })
  .openapi("RolledBack");

export const removedSchema = z.object({ name: text }).openapi("RemovedWorkflow");

export const bundleSchema = z
  .object({
    workflow: text.describe("The name it was asked by, or the hash."),
    hash,
    bytes: number,
    descriptor: orNull(descriptorSchema),
    sources: z
      .array(text)
      .describe("The files that it was built from, as far as its source map holds their text."),
    document: orNull(text).describe("Which of them is an agent graph or a step workflow."),
  })
  .openapi("Bundle");

export const documentSchema = z
  .object({
    workflow: text.describe("The name it was asked by, or the hash."),
    hash,
    kind: z.enum(["graph", "steps"]).describe("An agent graph, or a step workflow."),
    file: text.describe("The name of its file: JSON, or YAML by its ending."),
    text: text.describe("The document as it was saved."),
    subflows: z
      .record(text, text)
      .describe(
        "Of a step workflow: the JSON of those that it runs, by their paths from its file.",
      ),
  })
  .openapi("SavedDocument");

export const toolSchema = z
  .object({
    name: text,
    description: text,
    input: jsonSchema.describe("The JSON Schema of what it is called with."),
    timeoutMs: number.describe("The milliseconds that a call has which gives no time of its own."),
  })
  .openapi("Tool");

export const formSchema = z
  .object({
    workflow: text,
    hash,
    description: text,
    input: jsonSchema
      .nullable()
      .describe("The descriptor's `input`: what `params` must be. Null when it has none."),
  })
  .openapi("RunForm");
